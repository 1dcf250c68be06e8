package io.rdmaraw.tcp.congestion;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The congestion control algorithms by their names in tcp(7). */
public final class CongestionControls {
    private static final Map<String, CongestionControl.Factory> BY_NAME = new TreeMap<>(Map.of(
            Bbr.NAME, Bbr::new, Cubic.NAME, Cubic::new, Dctcp.NAME, Dctcp::new, NewReno.NAME, NewReno::new));

    private CongestionControls() {
    }

    /**
     * Returns the factory of the named algorithm.
     *
     * @throws IllegalArgumentException if the name is unknown; the message lists the known names
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
