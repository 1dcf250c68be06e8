package io.rdmaraw.testsuite.sim;

import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiConsumer;

/** Runs seeds. For a failing seed it finds a minimal set of faults that still fails, and writes a capture. */
final class Simulator {
    /** A violated invariant: the shrunk scenario, the rule and the command that reproduces it. */
    record Failure(long seed, long off, boolean isHostile, String rule, String message, String scenario) {
        @Override
        public String toString() {
            return message + "\nreproduce with --from " + seed + " --seeds 1" + (off == 0 ? "" : " --off 0x"
                    + Long.toHexString(off)) + "\n" + scenario;
        }
    }

    private final Simulation.CoreFactory cores;
    private final Scenario.Ends only;
    private long packets;
    private Method hostileRun;

    Simulator(Simulation.CoreFactory cores, Scenario.Ends only) {
        this.cores = cores;
        this.only = only;
    }

    /** Runs one seed. Returns null if all invariants held. */
    Failure run(long seed, long off) {
        if (cores != null && only == null && HostilePlan.isHostile(seed)) {
            return runHostile(seed, off, null);
        }
        Scenario scenario = new Scenario(seed, off, only);
        Simulation simulation = null;
        try {
            simulation = new Simulation(scenario, cores, null);
            simulation.run();
            return null;
        } catch (SimulationFailure e) {
            return failure(scenario, e.rule(), e.getMessage(), simulation);
        } catch (RuntimeException | AssertionError e) {
            return failure(scenario, "no exception", "exception " + e + at(e), simulation);
        } finally {
            packets += simulation == null ? 0 : simulation.packets();
        }
    }

    private Failure runHostile(long seed, long off, BiConsumer<Long, byte[]> tap) {
        try {
            if (hostileRun == null) {
                hostileRun = new StepCountingLoader(Simulator.class.getClassLoader())
                        .loadClass(HostileRun.class.getName()).getMethod("run", long.class, BiConsumer.class);
            }
            Object[] result = (Object[]) hostileRun.invoke(null, seed, tap);
            packets += (Integer) result[0];
            return result[1] == null ? null
                    : new Failure(seed, off, true, (String) result[1], (String) result[2],
                            new HostilePlan(seed).toString());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static String at(Throwable e) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(4, e.getStackTrace().length); i++) {
            text.append("\n    at ").append(e.getStackTrace()[i]);
        }
        return text.toString();
    }

    private static Failure failure(Scenario scenario, String rule, String message, Simulation simulation) {
        long now = simulation == null ? 0 : simulation.nowNanos();
        return new Failure(scenario.seed, scenario.off, false, rule, message + " (after " + now / 1000 + " us)",
                scenario.toString());
    }

    /**
     * Shrinks a failure: disables one fault after the other and keeps it disabled if the same rule is still
     * violated.
     */
    Failure shrink(Failure failure) {
        if (failure.isHostile()) {
            // A hostile run consists of one attack and has no faults of the path to remove.
            return failure;
        }
        Failure smallest = failure;
        boolean progress = true;
        while (progress) {
            progress = false;
            for (int bit = 0; bit < Fault.bits(); bit++) {
                long off = smallest.off | 1L << bit;
                if (off == smallest.off) {
                    continue;
                }
                Failure candidate = run(smallest.seed, off);
                if (candidate != null && candidate.rule.equals(smallest.rule)) {
                    smallest = candidate;
                    progress = true;
                }
            }
        }
        return smallest;
    }

    /** Runs the failing scenario again and writes its packets to a file. */
    void capture(Failure failure, Path file) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        try (PcapWriter pcap = PcapWriter.create(file, PcapFormat.LINKTYPE_RAW)) {
            if (failure.isHostile()) {
                runHostile(failure.seed, failure.off, (now, packet) -> write(pcap, now, packet));
                return;
            }
            Scenario scenario = new Scenario(failure.seed, failure.off, only);
            Simulation simulation = new Simulation(scenario, cores, (now, packet) -> write(pcap, now, packet));
            simulation.run();
        } catch (SimulationFailure | AssertionError e) {
            // Expected: the capture shows this failure.
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } catch (RuntimeException e) {
            // The core threw an exception, which is also an expected failure.
        }
    }

    private static void write(PcapWriter pcap, long nowNanos, byte[] packet) {
        try {
            pcap.write(nowNanos, packet, 0, packet.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the number of packets exchanged in all runs. */
    long packets() {
        return packets;
    }
}
