package io.rdmaraw.microbench.profile;

/** A process with busy event loops. Closing it ends the process, unless the process ran before. */
interface Load extends AutoCloseable {
    /** Returns the process ID. */
    long pid();

    /** Returns a description of the load for the title of a profile. */
    String title();

    @Override
    void close();
}
