package io.rdmaraw.tools.profile;

import java.nio.file.Path;

/** Takes samples of another JVM of this user, which it attaches to. Used by one thread. */
interface Profiler {
    /** Samples a process for a while, writes a page to look at, and returns what it saw of the event loops. */
    Samples sample(long pid, double seconds, String title, Path page) throws InterruptedException;
}
