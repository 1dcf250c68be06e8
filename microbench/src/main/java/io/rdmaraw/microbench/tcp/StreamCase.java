package io.rdmaraw.microbench.tcp;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.process.CpuTimes;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A case that is measured on every transport and results in one or more figures. */
sealed interface StreamCase {
    /** A value with its unit. */
    record Figure(Unit unit, double value) {
    }

    /** Returns the name of the case without the suffix of a figure. Scripts rely on it. */
    String name();

    /**
     * Measures the case.
     *
     * @param warmUpSeconds time under load before the measurement
     * @param seconds       duration of the measurement
     * @return figures by the suffix to the name of the case
     */
    Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
            throws InterruptedException;

    /** Returns whether a short bench includes the case on the given transport. */
    default boolean isInShortBench(Transport transport) {
        return true;
    }

    /** Returns whether the case needs an additional run that only warms up the JIT compiler. */
    default boolean warmsUp() {
        return false;
    }

    private static void await(double seconds) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
    }

    private static double rate(String what, JsonNode before, JsonNode after) {
        return difference(what, before, after) * 1e9 / difference("nanos", before, after);
    }

    private static double difference(String what, JsonNode before, JsonNode after) {
        return after.required(what).asDouble() - before.required(what).asDouble();
    }

    /** The assignment of both ends to the cores of the machine. */
    enum Cores {
        /** Both ends use all cores. */
        SHARED,
        /** Each end has a dedicated core. */
        APART,
        /**
         * Each end has a dedicated core, and the client polls. The busy time of the client's core is therefore
         * meaningless.
         */
        CLIENT_POLLS
    }

    /**
     * Requests and answers on a number of connections, with one outstanding request on each.
     *
     * @param connections number of connections
     * @param cores       assignment of the cores, which decides on the reported processor times
     */
    record RequestResponse(int connections, Cores cores) implements StreamCase {
        private static final double NANOS_PER_MICRO = 1000;

        @Override
        public String name() {
            return "rr.conns" + connections;
        }

        /** The cases with more connections run the same code, so one warm-up suffices. */
        @Override
        public boolean warmsUp() {
            return connections == 1;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
                throws InterruptedException {
            client.ask("ask " + connections);
            await(warmUpSeconds);
            client.ask("times");
            CpuTimes cpuBefore = CpuTimes.read(WireStreams.SERVER_CORE);
            JsonNode before = client.ask("counts");
            await(seconds);
            JsonNode after = client.ask("counts");
            CpuTimes.Spent spent = CpuTimes.read(WireStreams.SERVER_CORE).since(cpuBefore);
            JsonNode times = client.ask("times");
            client.ask("stop");
            Map<String, Figure> figures = new LinkedHashMap<>();
            figures.put("", new Figure(Unit.ROUND_TRIPS_PER_SECOND, rate("roundTrips", before, after)));
            figures.put(".p50", new Figure(Unit.MICROSECONDS, times.required("p50Nanos").asDouble() / NANOS_PER_MICRO));
            figures.put(".p99", new Figure(Unit.MICROSECONDS, times.required("p99Nanos").asDouble() / NANOS_PER_MICRO));
            figures.put(".p999",
                    new Figure(Unit.MICROSECONDS, times.required("p999Nanos").asDouble() / NANOS_PER_MICRO));
            double answers = difference("roundTrips", before, after);
            if (cores != Cores.SHARED) {
                figures.put(".perServerCpu", new Figure(Unit.ANSWERS_PER_CPU_SECOND,
                        answers / spent.serverSeconds()));
            }
            if (cores == Cores.APART) {
                figures.put(".perMachineCpu", new Figure(Unit.ANSWERS_PER_CPU_SECOND,
                        answers / spent.machineSeconds()));
            }
            return figures;
        }
    }

    /** A bulk transfer on one connection in one direction. */
    record Bulk(boolean toServer) implements StreamCase {
        private static final double BYTES_PER_GIGABYTE = 1e9;

        @Override
        public String name() {
            return toServer ? "bulk.in" : "bulk.out";
        }

        @Override
        public boolean warmsUp() {
            return true;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
                throws InterruptedException {
            TcpPeer receiver = toServer ? server : client;
            client.ask(toServer ? "send" : "receive");
            await(warmUpSeconds);
            JsonNode before = receiver.ask("counts");
            await(seconds);
            JsonNode after = receiver.ask("counts");
            client.ask("stop");
            return Map.of("", new Figure(Unit.GIGABYTES_PER_SECOND,
                    rate(toServer ? "taken" : "received", before, after) / BYTES_PER_GIGABYTE));
        }
    }

    /**
     * Connections that are opened and closed again.
     *
     * @param parallel number of connections open at the same time
     */
    record ConnectAndClose(int parallel) implements StreamCase {
        @Override
        public String name() {
            return "connect";
        }

        @Override
        public boolean warmsUp() {
            return true;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
                throws InterruptedException {
            client.ask("cycle " + parallel);
            await(warmUpSeconds);
            JsonNode serverBefore = server.ask("counts");
            JsonNode before = client.ask("counts");
            await(seconds);
            JsonNode after = client.ask("counts");
            JsonNode serverAfter = server.ask("counts");
            client.ask("stop");
            double count = difference("connections", before, after);
            Map<String, Figure> figures = new LinkedHashMap<>();
            figures.put("", new Figure(Unit.CONNECTIONS_PER_SECOND, rate("connections", before, after)));
            double serverNanos = difference("serverNanos", serverBefore, serverAfter);
            double clientNanos = difference("clientNanos", before, after);
            figures.put(".perServerCpu", new Figure(Unit.CONNECTIONS_PER_CPU_SECOND, count * 1e9 / serverNanos));
            figures.put(".perClientCpu", new Figure(Unit.CONNECTIONS_PER_CPU_SECOND, count * 1e9 / clientNanos));
            figures.put(".perCpu", new Figure(Unit.CONNECTIONS_PER_CPU_SECOND,
                    count * 1e9 / (serverNanos + clientNanos)));
            figures.put(".allocatedByServer", new Figure(Unit.BYTES_PER_CONNECTION,
                    difference("serverAllocated", serverBefore, serverAfter) / count));
            figures.put(".allocatedByClient", new Figure(Unit.BYTES_PER_CONNECTION,
                    difference("clientAllocated", before, after) / count));
            return figures;
        }
    }

    /**
     * Requests at a constant rate and new connections, in several phases: without other load, under SYNs with wrong
     * checksums, and under a flood (of SYNs by default).
     *
     * <p>The generator and the client share a core. The phase with wrong checksums shows which part of the loss is due
     * to the generator and the link. The remaining loss is due to the server.
     */
    record Flood(int connections, int requestsPerSecond, FloodKind kind) implements StreamCase {
        private static final double PERCENT = 100;

        /** The rates that were measured in one phase. */
        private record Phase(double answersPerSecond, double connectsPerSecond, double floodedPerSecond,
                double byCookiePerSecond) {
        }

        @Override
        public String name() {
            return kind == FloodKind.SYN ? "flood" : "flood." + kind;
        }

        /** The case takes as long as all other cases over veth together. */
        @Override
        public boolean isInShortBench(Transport transport) {
            return transport == Transport.RDMA_RAW || transport == Transport.EPOLL;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
                throws InterruptedException {
            client.ask("pace " + connections + ' ' + requestsPerSecond);
            await(warmUpSeconds);
            Phase before = phase(server, client, null, seconds);
            Phase noise = phase(server, client, "noise", seconds);
            Phase flood = phase(server, client, "flood " + kind.name(), seconds);
            Phase after = phase(server, client, null, seconds);
            client.ask("stop");
            double calm = (before.answersPerSecond + after.answersPerSecond) / 2;
            Map<String, Figure> figures = new LinkedHashMap<>();
            figures.put(".calm", new Figure(Unit.ROUND_TRIPS_PER_SECOND, calm));
            figures.put(".kept", new Figure(Unit.PERCENT_KEPT, PERCENT * flood.answersPerSecond / calm));
            figures.put(".noise", new Figure(Unit.PERCENT_KEPT, PERCENT * noise.answersPerSecond / calm));
            figures.put(".noiseFrames", new Figure(Unit.MEGAFRAMES_PER_SECOND, noise.floodedPerSecond / 1e6));
            if (noise.answersPerSecond > 0) {
                figures.put(".keptOfNoise", new Figure(Unit.PERCENT_KEPT,
                        PERCENT * flood.answersPerSecond / noise.answersPerSecond));
            }
            figures.put(".syns", new Figure(Unit.MEGAFRAMES_PER_SECOND, flood.floodedPerSecond / 1e6));
            figures.put(".newcomers", new Figure(Unit.CONNECTIONS_PER_SECOND, flood.connectsPerSecond));
            figures.put(".byCookie", new Figure(Unit.CONNECTIONS_PER_SECOND, flood.byCookiePerSecond));
            return figures;
        }

        private static Phase phase(TcpPeer server, TcpPeer client, String flood, double seconds)
                throws InterruptedException {
            if (flood != null) {
                client.ask(flood);
            }
            await(seconds / 4);
            JsonNode serverBefore = server.ask("counts");
            JsonNode before = client.ask("counts");
            await(seconds);
            JsonNode after = client.ask("counts");
            JsonNode serverAfter = server.ask("counts");
            client.ask("calm");
            return new Phase(rate("roundTrips", before, after), rate("connections", before, after),
                    rate("flooded", before, after), rate("cookies", serverBefore, serverAfter));
        }
    }

    /**
     * Requests at a constant rate and new connections, first without other load and then under attack by hostile peers.
     * The difference shows the cost of the attack in answers, processor time, memory and slots. The peers run on the
     * core of the client.
     */
    record Hostile(int connections, int requestsPerSecond, HostileKind kind) implements StreamCase {
        @Override
        public String name() {
            return "hostile." + kind;
        }

        @Override
        public boolean isInShortBench(Transport transport) {
            return transport == Transport.RDMA_RAW || transport == Transport.EPOLL;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds)
                throws InterruptedException {
            return new HostileMeasurement(server, client, seconds).measure(this, warmUpSeconds);
        }
    }

    /** The Java heap per idle connection including its channel, as the mean of both ends. */
    record IdleHeap(int connections) implements StreamCase {
        @Override
        public String name() {
            return "idle.conns" + connections;
        }

        @Override
        public Map<String, Figure> measure(TcpPeer server, TcpPeer client, double warmUpSeconds, double seconds) {
            client.ask("idle 1");
            double before = heapBytes(server, client);
            client.ask("idle " + connections);
            double after = heapBytes(server, client);
            client.ask("stop");
            return Map.of(".heap", new Figure(Unit.BYTES_PER_CONNECTION, (after - before) / (2.0 * connections)));
        }

        private static double heapBytes(TcpPeer server, TcpPeer client) {
            double bytes = client.ask("heap").required("bytes").asDouble();
            return server == client ? bytes : bytes + server.ask("heap").required("bytes").asDouble();
        }
    }
}
