package io.rdmaraw.testsuite.net;

import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names of namespaces and interfaces. They carry the process id, so that runs side by side do not meet and the leavings
 * of a dead run can be told. An interface name has at most 15 characters, hence base 36.
 */
final class NetworkNames {
    private static final Pattern NAMESPACE = Pattern.compile("rdmaraw-(\\d+)-\\d+");
    private static final Pattern INTERFACE = Pattern.compile("rr([0-9a-z]+)_[0-9a-z]+[ab]");
    private static final AtomicInteger COUNTER = new AtomicInteger();
    private static final int BASE = 36;

    private NetworkNames() {
    }

    /** A number that no other namespace or pair of this process has. */
    static int nextNumber() {
        return COUNTER.getAndIncrement();
    }

    /** Whether this process has asked for any. */
    static boolean areThere() {
        return COUNTER.get() > 0;
    }

    static String namespace(int number) {
        return "rdmaraw-" + ProcessHandle.current().pid() + '-' + number;
    }

    /** @param end 'a' or 'b' */
    static String networkInterface(int number, char end) {
        return "rr" + Long.toString(ProcessHandle.current().pid(), BASE) + '_' + Integer.toString(number, BASE) + end;
    }

    /** The process that made a namespace or an interface; empty for names that are not ours. */
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
