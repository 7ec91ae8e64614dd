// SPDX-License-Identifier: Apache-2.0
// The parameter sweep of the paper's Figure 9: how long a parallel computation takes by its number of
// processes and of blocks. Here there are 1 to 2**n processes, with -n=N.
//
//     fluvial run -n 4 sweep.swift -n=1
@par (float t) mpidraw(int bf) "mpidraw";

int most = toint(argv("n", "1"));

foreach b in [0:3] {
  // Block factor: 1-8
  int bf = round(2**b);
  foreach n in [0:most] {
    // Number of processes/task
    int np = round(2**n);
    float t = @par=np mpidraw(bf);
    printf("RESULT: bf=%i np=%i -> time=%0.3f", bf, np, t);
  }
}
