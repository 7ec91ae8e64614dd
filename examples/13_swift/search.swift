// SPDX-License-Identifier: Apache-2.0
// A search for the best parameters of a model: a grid, which is refined around its best point until
// that moves no more. The points of one grid are computed at the same time.
//
//     fluvial run -n 3 search.swift
(float misfit) model(float decay, float rate) "model";
(float decay, float rate, float misfit) best(float points[][]) "model";

// Around (x, y) the points of a grid: x, y and the misfit of each.
(float points[][]) grid(float x, float y, float width) {
  foreach i in [-2:2] {
    foreach j in [-2:2] {
      int n = 5 * (i + 2) + j + 2;
      float decay = x + i * width;
      float rate = y + j * width;
      points[n][0] = decay;
      points[n][1] = rate;
      points[n][2] = model(decay, rate);
    }
  }
}

for (float x = 1, float y = 1, float width = 0.4, int round = 0;
     width > 0.01;
     x = better_x, y = better_y, width = narrower, round = round + 1) {
  float better_x, better_y, misfit;
  better_x, better_y, misfit = best(grid(x, y, width));
  float narrower = width / 2;
  printf("round %i: decay %.3f, rate %.3f, misfit %.5f", round, better_x, better_y, misfit);
}
