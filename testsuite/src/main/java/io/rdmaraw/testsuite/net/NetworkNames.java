package io.rdmaraw.testsuite.net;

import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Generates the names of namespaces and interfaces. They contain the process ID, so that concurrent runs do not collide
 * and leftovers of dead runs can be identified. Base 36 keeps interface names within 15 characters.
 */
final class NetworkNames {
    private static final Pattern NAMESPACE = Pattern.compile("rdmaraw-(\\d+)-\\d+");
    private static final Pattern INTERFACE = Pattern.compile("rr([0-9a-z]+)_[0-9a-z]+[ab]");
    private static final AtomicInteger COUNTER = new AtomicInteger();
    private static final int BASE = 36;

    private NetworkNames() {
    }

    /** Returns a number that is unique among the namespaces and pairs of this process. */
    static int nextNumber() {
        return COUNTER.getAndIncrement();
    }

    /** Returns whether this process has used any number. */
    static boolean exist() {
        return COUNTER.get() > 0;
    }

    static String namespace(int number) {
        return "rdmaraw-" + ProcessHandle.current().pid() + '-' + number;
    }

    /**
     * Returns the name of an interface.
     *
     * @param end 'a' or 'b'
     */
    static String networkInterface(int number, char end) {
        return "rr" + Long.toString(ProcessHandle.current().pid(), BASE) + '_' + Integer.toString(number, BASE) + end;
    }

    /** Returns the process that created a namespace or an interface; empty if the name has a different form. */
    static OptionalLong owner(String name) {
        Matcher namespace = NAMESPACE.matcher(name);
        if (namespace.matches()) {
            return OptionalLong.of(Long.parseLong(namespace.group(1)));
        }
        Matcher networkInterface = INTERFACE.matcher(name);
        return networkInterface.matches() ? OptionalLong.of(Long.parseLong(networkInterface.group(1), BASE))
                : OptionalLong.empty();
    }
}
