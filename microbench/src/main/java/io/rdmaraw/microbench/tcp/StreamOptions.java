package io.rdmaraw.microbench.tcp;

import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.testsuite.net.Offloads;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The options of the TCP bench.
 *
 * @param transports    transports in the order of a run
 * @param runs          number of runs of each case
 * @param isShort       whether slow cases are omitted on less important transports
 * @param settleSeconds time under load before each measurement
 * @param seconds       duration of each measurement
 * @param device        device kind of this transport's server over veth: {@code soft:xdp} or {@code soft:packet}
 * @param offloads      offloads of the veth pair
 * @param polled        whether the client over veth uses this transport and never sleeps
 * @param flood         kind of the flood
 * @param only          pattern of the full case names, such as {@code tcp.loop.rr.conns64}
 */
record StreamOptions(List<TunedTransport> transports, int runs, boolean isShort, double settleSeconds, double seconds,
        String device, Offloads offloads, boolean polled, FloodKind flood, Pattern only) {
    /** Returns the cases that the user selected. */
    List<StreamCase> wanted(String prefix, List<StreamCase> cases) {
        return cases.stream().filter(one -> only.matcher(prefix + one.name()).find()).toList();
    }

    /** Returns whether a case is to be measured on a transport. */
    boolean isWantedOn(StreamCase streamCase, TunedTransport transport) {
        return !isShort || streamCase.isInShortBench(transport.transport());
    }
}
