"""Statistics over outcomes and surprisals."""
