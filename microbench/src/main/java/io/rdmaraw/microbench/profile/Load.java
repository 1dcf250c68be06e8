package io.rdmaraw.microbench.profile;

/** A process whose event loops are busy until this is closed. */
interface Load extends AutoCloseable {
    /** Returns the process ID. */
    long pid();

    /** Returns what the process does, for the title of a profile. */
    String title();

    @Override
    void close();
}
