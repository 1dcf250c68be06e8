package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.testsuite.net.Offloads;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The size of the measurement.
 *
 * @param transports    in the order of a run
 * @param isShort       whether cases are left out that take long on transports that matter less
 * @param settleSeconds under load before each measurement
 * @param device        the kind of device that our server has over veth: {@code soft:xdp} or {@code soft:packet}
 * @param offloads      of the veth pair
 * @param polled        whether the client over veth is ours and never sleeps
 * @param flood         what the flood is of
 * @param only          the cases, by their whole names such as {@code tcp.loop.rr.conns64}
 */
record StreamOptions(List<Transport> transports, int runs, boolean isShort, double settleSeconds, double seconds,
        String device, Offloads offloads, boolean polled, FloodKind flood, Pattern only) {
    /** Returns the wanted ones of some cases. */
    List<StreamCase> wanted(String prefix, List<StreamCase> cases) {
        return cases.stream().filter(one -> only.matcher(prefix + one.name()).find()).toList();
    }

    /** Returns whether a case is wanted on a transport. */
    boolean isWantedOn(StreamCase streamCase, Transport transport) {
        return !isShort || streamCase.isInShortBench(transport);
    }
}
