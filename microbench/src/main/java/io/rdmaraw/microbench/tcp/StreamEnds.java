package io.rdmaraw.microbench.tcp;

import io.rdmaraw.microbench.process.CompilerTime;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import io.rdmaraw.tools.command.ToolException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The client and server processes of a transport. They start on first use. After a failed case they start anew, so that
 * the failure does not affect other cases.
 */
final class StreamEnds implements AutoCloseable {
    /** The JIT compilers are regarded as finished if they use less than this share of a core. */
    static final double COMPILED_SHARE = 0.05;

    /**
     * @param server process of the server
     * @param client process of the client; may be the same process
     */
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
     * @throws ToolException if the case cannot be measured
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
     * Sends requests until the JIT compilers of both ends have finished. The compilers use the cores of the ends, so an
     * end with more code to compile would answer fewer requests.
     *
     * @param maxSeconds maximum duration
     * @return the compilers' share of a core in the last second
     * @throws ToolException if the ends fail
     */
    double warmUp(int connections, int maxSeconds) throws InterruptedException {
        if (pair == null) {
            pair = starter.get();
        }
        pair.client().ask("ask " + connections);
        double share = 1;
        for (int second = 0; second < maxSeconds && share >= COMPILED_SHARE; second++) {
            double before = compilerSeconds();
            TimeUnit.SECONDS.sleep(1);
            share = compilerSeconds() - before;
        }
        pair.client().ask("stop");
        return share;
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
