from data_files import real_data, store  # noqa: F401
