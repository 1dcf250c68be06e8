package io.rdmaraw.tcp.congestion;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The congestion control algorithms by the names that tcp(7) has for them. */
public final class CongestionControls {
    private static final Map<String, CongestionControl.Factory> BY_NAME = new TreeMap<>(Map.of(
            Bbr.NAME, Bbr::new, Cubic.NAME, Cubic::new, Dctcp.NAME, Dctcp::new, NewReno.NAME, NewReno::new));

    private CongestionControls() {
    }

    /**
     * Returns what makes the algorithm of a name.
     *
     * @throws IllegalArgumentException if there is none; the message has the names that there are
     */
    public static CongestionControl.Factory named(String name) {
        CongestionControl.Factory found = name == null ? null : BY_NAME.get(name);
        if (found == null) {
            throw new IllegalArgumentException("There is no congestion control named \"" + name + "\", there are "
                    + String.join(", ", BY_NAME.keySet()));
        }
        return found;
    }

    /** Returns all names, in alphabetical order. */
    public static List<String> names() {
        return List.copyOf(BY_NAME.keySet());
    }
}
