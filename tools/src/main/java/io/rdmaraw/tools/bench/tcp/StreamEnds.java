package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.bench.tcp.StreamCase.Figure;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The processes that a transport is measured with. They are started when they are first needed, and anew after a case
 * has failed, so that what it left behind spoils no other.
 */
final class StreamEnds implements AutoCloseable {
    /** @param client may be the same process */
    record Pair(TcpPeer server, TcpPeer client) {
        private void close() {
            client.close();
            server.close();
        }
    }

    private final Supplier<Pair> starter;
    private Pair pair;

    StreamEnds(Supplier<Pair> starter) {
        this.starter = starter;
    }

    /**
     * Measures a case.
     *
     * @throws ToolException when it cannot be measured
     */
    Map<String, Figure> measure(StreamCase streamCase, double settleSeconds, double seconds)
            throws InterruptedException {
        if (pair == null) {
            pair = starter.get();
        }
        try {
            return streamCase.measure(pair.server(), pair.client(), settleSeconds, seconds);
        } catch (ToolException e) {
            close();
            throw e;
        }
    }

    @Override
    public void close() {
        if (pair != null) {
            pair.close();
            pair = null;
        }
    }
}
