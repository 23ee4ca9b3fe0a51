-- Passes of run() after the first: a replay each. One that ran through from the top to its end has no row.
CREATE TABLE pass (
    instance INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    cause    INTEGER NOT NULL,
    version  INTEGER NOT NULL, -- of the code that this pass ran
    PRIMARY KEY (instance, number)
) WITHOUT ROWID;
