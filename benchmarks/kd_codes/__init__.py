"""KD codes, Chen, Min & Sun, ICML 2018."""
