package io.rdmaraw.microbench.profile;

import java.nio.file.Path;

/** Samples another JVM, to which it attaches. The JVM must run as the same user. Used by one thread. */
interface Profiler {
    /** Samples a process, writes the result to a page, and returns the samples of the event loops. */
    Samples sample(long pid, double seconds, String title, Path page) throws InterruptedException;
}
