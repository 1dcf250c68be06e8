package io.rdmaraw.microbench.profile;

import java.nio.file.Path;

/** Takes samples of another JVM of the same user, to which it attaches. Used by one thread. */
interface Profiler {
    /** Samples a process, writes a page, and returns the samples of the event loops. */
    Samples sample(long pid, double seconds, String title, Path page) throws InterruptedException;
}
