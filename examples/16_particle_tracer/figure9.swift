// Define call to OSUFlow feature MpiDraw
@par (float t) mpidraw(int bf) "mpidraw";

main {
  foreach b in [0:7] {
    // Block factor: 1-128
    int bf = round(2**b);
    foreach n in [4:9] {
      // Number of processes/task: 16-512
      int np = round(2**n);
      float t = @par=np mpidraw(bf);
      printf("RESULT: bf=%i np=%i -> time=%0.3f",
            bf, np, t);
    }
  }
}
