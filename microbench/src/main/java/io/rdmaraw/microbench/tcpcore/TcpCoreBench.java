package io.rdmaraw.microbench.tcpcore;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.tools.run.AllocationMeter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Measures the TCP core without a device: requests and responses with both ends on one thread, and the cost of idle
 * connections.
 *
 * <p>Rates are per second of processor time of the thread. The thread never waits, so this is the elapsed time on an
 * idle core. On a busy machine, the time that other programs use the core does not count.
 */
final class TcpCoreBench {
    private static final String CORE = "rdma-raw";
    private static final String NO_DEVICE = "none";
    private static final int TURNS_PER_CHECK = 256;
    private static final int HEAP_CONNECTIONS = 100_000;
    private static final int MILLION = 1_000_000;
    private static final long TWO_HOURS = TimeUnit.HOURS.toNanos(2);
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    private final TcpCoreBenchOptions options;
    private final PrintWriter progress;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final BenchReport report = new BenchReport("tcp-core");

    TcpCoreBench(TcpCoreBenchOptions options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    BenchReport run() {
        for (int connections : options.connections()) {
            requestResponse(connections);
        }
        idleHeap("tcp-core.heap.idle", HEAP_CONNECTIONS);
        idleHeap("tcp-core.idle.million", MILLION);
        idleTime("tcp-core.idle.million.keepalive2h", TWO_HOURS);
        idleTime("tcp-core.idle.million.keepalive1min", MINUTE);
        return report;
    }

    private void requestResponse(int connections) {
        String name = "tcp-core.rr." + (options.shuffled() ? "shuffled." : "") + "conns" + connections;
        List<Double> rates = new ArrayList<>();
        List<Double> allocated = new ArrayList<>();
        say(name);
        try (TcpPair pair = new TcpPair(connections)) {
            AllocationMeter meter = new AllocationMeter(List.of(Thread.currentThread()));
            if (options.shuffled()) {
                pair.shuffle();
            }
            pair.begin();
            work(pair, options.warmUpSeconds());
            long repeatedBefore = pair.retransmittedSegments();
            for (int i = 0; i < options.runs(); i++) {
                long segments = pair.segments();
                meter.start();
                double rate = work(pair, options.runSeconds());
                long bytes = meter.bytes();
                rates.add(rate / 1e6);
                allocated.add((double) bytes / (pair.segments() - segments));
            }
            say("  segments sent again: " + (pair.retransmittedSegments() - repeatedBefore));
        }
        add(name, Unit.MEGAREQUESTS_PER_SECOND, rates);
        add(name + ".alloc", Unit.BYTES_PER_SEGMENT, allocated);
    }

    /** Runs for the given processor time and returns the number of requests per second of processor time. */
    private double work(TcpPair pair, double seconds) {
        long limit = (long) (seconds * 1e9);
        long completed = pair.completed();
        long start = threads.getCurrentThreadCpuTime();
        long spent;
        do {
            for (int i = 0; i < TURNS_PER_CHECK; i++) {
                if (pair.turn() == 0) {
                    throw new IllegalStateException("the conversation has come to a halt after " + pair.completed()
                            + " requests");
                }
            }
            spent = threads.getCurrentThreadCpuTime() - start;
        } while (spent < limit);
        return (pair.completed() - completed) / (spent / 1e9);
    }

    private void idleHeap(String name, int connections) {
        say(name);
        List<Double> bytes = new ArrayList<>();
        long before = IdleServer.liveHeapBytes();
        try (IdleServer server = new IdleServer(connections, 0, 0)) {
            bytes.add((double) (IdleServer.liveHeapBytes() - before) / server.connections());
        }
        add(name + (connections == MILLION ? ".heap" : ""), Unit.BYTES_PER_CONNECTION, bytes);
    }

    /**
     * Measures the processor time of idle connections in virtual time. The first round of keepalive probes is a
     * warm-up.
     */
    private void idleTime(String name, long keepAliveIdleNanos) {
        say(name);
        List<Double> percent = new ArrayList<>();
        try (IdleServer server = new IdleServer(MILLION, keepAliveIdleNanos, keepAliveIdleNanos)) {
            server.coreShare(keepAliveIdleNanos, 0);
            for (int i = 0; i < options.runs(); i++) {
                percent.add(100 * server.coreShare(keepAliveIdleNanos, MILLION / 10 * 9));
            }
        }
        add(name, Unit.PERCENT_OF_CORE, percent);
    }

    private void add(String name, Unit unit, List<Double> values) {
        report.add(BenchRow.of(name, CORE, NO_DEVICE, unit, values));
    }

    private void say(String line) {
        progress.println(line);
        progress.flush();
    }
}
