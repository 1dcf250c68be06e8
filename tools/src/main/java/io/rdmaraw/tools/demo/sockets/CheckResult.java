package io.rdmaraw.tools.demo.sockets;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;

/**
 * The result of one check.
 *
 * @param sockets number of connections or datagram sockets
 * @param loops   number of loops of the server that served them
 * @param failure reason of the first failure, or an empty string
 */
record CheckResult(String name, Family family, int sockets, int loops, String failure, long nanos) {
    private static final double NANOS_PER_MILLI = 1e6;

    boolean isRight() {
        return failure.isEmpty();
    }

    String title() {
        return name + " over " + (family == Family.IPV4 ? "IPv4" : "IPv6");
    }

    String text() {
        return isRight() ? sockets + " sockets, on loops: " + loops : "FAILED: " + failure;
    }

    ObjectNode toJson() {
        return Json.object().put("check", name).put("family", family.name()).put("sockets", sockets)
                .put("loops", loops).put("failure", failure).put("ms", Json.rounded(nanos / NANOS_PER_MILLI));
    }
}
