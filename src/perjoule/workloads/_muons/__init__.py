"""The muon analysis itself. Its modules run on clients and on Dask's workers, so they import no driver."""
