"""Neural projection skip-gram, Sankar et al., 2019."""
