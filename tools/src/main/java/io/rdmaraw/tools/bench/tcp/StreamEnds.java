package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.bench.server.CompilerTime;
import io.rdmaraw.tools.bench.tcp.StreamCase.Figure;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The processes that a transport is measured with. They are started when they are first needed, and anew after a case
 * has failed, so that what it left behind spoils no other.
 */
final class StreamEnds implements AutoCloseable {
    /** Compilers that took less than this share of a second are done. */
    private static final double COMPILED_SHARE = 0.05;

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

    /**
     * Has requests asked and answered until the JIT compilers of both ends are done: they share the ends' cores, and
     * whoever has more to compile would have fewer answers for it.
     *
     * @throws ToolException when that fails
     */
    void warmUp(int connections, double mostSeconds) throws InterruptedException {
        if (pair == null) {
            pair = starter.get();
        }
        pair.client().ask("ask " + connections);
        double compiled = compilerSeconds();
        for (int second = 0; second < mostSeconds; second++) {
            TimeUnit.SECONDS.sleep(1);
            double now = compilerSeconds();
            if (now - compiled < COMPILED_SHARE) {
                break;
            }
            compiled = now;
        }
        pair.client().ask("stop");
    }

    private double compilerSeconds() {
        return CompilerTime.seconds(pair.server().pid()) + CompilerTime.seconds(pair.client().pid());
    }

    @Override
    public void close() {
        if (pair != null) {
            pair.close();
            pair = null;
        }
    }
}
