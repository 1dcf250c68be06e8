package io.rdmaraw.tools.profile;

/** A process whose event loops are busy until this is closed. */
interface Load extends AutoCloseable {
    /** The process. */
    long pid();

    /** What it does, for the heading of a profile. */
    String title();

    @Override
    void close();
}
