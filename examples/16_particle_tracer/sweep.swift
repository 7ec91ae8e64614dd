// SPDX-License-Identifier: Apache-2.0
// The paper's application on the ranks that there are: how long a particle tracer takes by its numbers
// of processes and of blocks of each process, the contour of that, and the streamlines.
//
//     fluvial run -n 5 sweep.swift
@par (float t) mpidraw(int bf) "mpidraw";
@par (file picture) streamlines(int bf) "mpidraw";
(file picture) contour(string lines[]) "mpidraw";

int most = toint(argv("blocks", "4"));  // 2**most blocks at most

string lines[];
foreach b in [0:most] {
  int bf = round(2**b);
  foreach n in [0:floor(log(turbine_workers()) / log(2))] {
    int np = round(2**n);
    float t = @par=np mpidraw(bf);
    lines[100 * b + n] = "RESULT: bf=%i np=%i -> time=%0.3f" % (bf, np, t);
    printf(lines[100 * b + n]);
  }
}
file times <"contour.png"> = contour(lines);
file paths <"streamlines.png"> = @par=turbine_workers() streamlines(2);
