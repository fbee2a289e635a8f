"""The files that the authors of studies released: materials and surprisals."""
