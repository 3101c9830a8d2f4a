"""Schedulers of batch logs and of the literature: EASY, first fit, gangs, packing, dominant shares."""
