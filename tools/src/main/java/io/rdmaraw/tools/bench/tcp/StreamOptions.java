package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.examples.server.Transport;
import java.util.List;
import java.util.regex.Pattern;

/**
 * How much is measured.
 *
 * @param transports    in the order of a run
 * @param settleSeconds under load before each measurement
 * @param only          the cases, by their whole names such as {@code tcp.loop.rr.conns64}
 */
record StreamOptions(List<Transport> transports, int runs, double settleSeconds, double seconds, Pattern only) {
    /** Returns those of some cases that are wanted. */
    List<StreamCase> wanted(String prefix, List<StreamCase> cases) {
        return cases.stream().filter(one -> only.matcher(prefix + one.name()).find()).toList();
    }
}
