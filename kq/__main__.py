"""`python -m kq`."""

from kq.cli.main import main

if __name__ == "__main__":
    main()
