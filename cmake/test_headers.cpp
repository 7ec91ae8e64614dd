// SPDX-License-Identifier: Apache-2.0
// Whose headers, compiled once, are those of all test programs (FluvialTest.cmake).
