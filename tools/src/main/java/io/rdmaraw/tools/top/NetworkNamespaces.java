package io.rdmaraw.tools.top;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the network namespaces of processes from procfs (namespaces(7)). */
final class NetworkNamespaces {
    private final Path proc;

    /**
     * Creates the reader.
     *
     * @param proc mount point of procfs
     */
    NetworkNamespaces(Path proc) {
        this.proc = proc;
    }

    boolean hasProcess(String pid) {
        return Files.isDirectory(proc.resolve(pid));
    }

    /** Returns whether a process is known to be in another namespace than this process. */
    boolean isElsewhere(String pid) {
        try {
            return !of(pid).equals(of("self"));
        } catch (IOException e) {
            // The process belongs to another user or has ended.
            return false;
        }
    }

    private Path of(String pid) throws IOException {
        return Files.readSymbolicLink(proc.resolve(pid).resolve("ns/net"));
    }
}
