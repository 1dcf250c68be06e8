package io.rdmaraw.testsuite.net;

import java.util.List;
import java.util.OptionalLong;

/** Removes the namespaces, interfaces and programs of earlier runs that were interrupted or killed. */
public final class Leftovers {
    private Leftovers() {
    }

    static void remove() {
        for (String name : NetworkNamespace.list()) {
            if (isOrphan(name)) {
                removeNamespace(name);
            }
        }
        for (String name : interfaces()) {
            if (isOrphan(name)) {
                Ip.attempt("link", "del", "dev", name);
            }
        }
    }

    /** Removes everything that this process has created, for a process that exits before it has closed them. */
    public static void removeOwn() {
        if (!NetworkNames.exist()) {
            return;
        }
        long own = ProcessHandle.current().pid();
        NetworkNamespace.list().stream().filter(name -> NetworkNames.owner(name).equals(OptionalLong.of(own)))
                .forEach(Leftovers::removeNamespace);
        interfaces().stream().filter(name -> NetworkNames.owner(name).equals(OptionalLong.of(own)))
                .forEach(name -> Ip.attempt("link", "del", "dev", name));
    }

    private static boolean isOrphan(String name) {
        OptionalLong owner = NetworkNames.owner(name);
        return owner.isPresent() && ProcessHandle.of(owner.getAsLong()).isEmpty();
    }

    /**
     * Removes a namespace. Its programs are killed first, because a namespace exists, without a name, as long as a
     * process is in it.
     */
    private static void removeNamespace(String name) {
        Ip.attempt("netns", "pids", name).output().lines().map(String::strip).filter(line -> line.matches("\\d+"))
                .map(Long::parseLong).forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
        Ip.attempt("netns", "del", name);
    }

    /** Returns the veth interfaces. Lines read "3: rr1_0a@if4: <BROADCAST,...". */
    private static List<String> interfaces() {
        return Ip.attempt("-o", "link", "show", "type", "veth").output().lines()
                .map(line -> line.split("[: @]+")).filter(words -> words.length > 1).map(words -> words[1]).toList();
    }
}
