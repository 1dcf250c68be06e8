package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/**
 * The few figures that show whether it is worthwhile to switch to this transport. {@code docs/lab/figures.md} shows the
 * same ones.
 */
final class KeyFigures {
    /**
     * A figure, and the criteria that find its row in a report.
     *
     * @param what      description for the reader
     * @param meaning   effect for a user
     * @param bench     name of the measurement
     * @param caseName  regular expression for the case; the first matching row counts
     * @param transport transport of the row
     * @param device    device of the row, or null for any device
     * @param ratioTo   reference of the ratio, or null
     */
    private record Key(String what, String meaning, String bench, String caseName, String transport, String device,
            String ratioTo) {
        /**
         * Returns the row with the lower ratio, which compares with the stronger form of the rival: stock or tuned.
         * Tuning can also make a rival slower.
         */
        Optional<JsonNode> find(Report report) {
            return Stream.of(ratioTo + TUNED, ratioTo).map(rival -> find(report, rival)).flatMap(Optional::stream)
                    .min(Comparator.comparingDouble(row -> row.path("ratioMedian").asDouble()));
        }

        private Optional<JsonNode> find(Report report, String rival) {
            return report.rows(bench).filter(row -> row.path("case").asText().matches(caseName)
                    && row.path("transport").asText().equals(transport)
                    && (device == null || row.path("device").asText().equals(device))
                    && (ratioTo == null ? !row.hasNonNull("ratioTo") : row.path("ratioTo").asText().equals(rival)))
                    .findFirst();
        }
    }

    private static final String TUNED = "-tuned";
    private static final String OURS = "rdma-raw";
    private static final String DATAGRAMS = "rdma-raw-datagram";
    private static final String XDP = "soft:xdp";

    private static final List<Key> KEYS = List.of(
            new Key("HTTP answers per second of the server's processor time, 64 connections",
                    "how many requests a core of the server answers: what a host costs",
                    "http", "http.plaintext.conns64.perServerCpu", OURS, XDP, "epoll"),
            new Key("HTTP answers per second, 64 connections", "how many requests a server with one loop answers",
                    "http", "http.plaintext.conns64.rate", OURS, XDP, "epoll"),
            new Key("HTTP latency at 50 % load, p50", "what a user waits on an ordinary day",
                    "http", "http.paced.conns64.load50.p50", OURS, XDP, "epoll"),
            new Key("HTTP latency at 50 % load, p99", "what one request in a hundred waits then",
                    "http", "http.paced.conns64.load50.p99", OURS, XDP, "epoll"),
            new Key("HTTP latency at 90 % load, p50", "what a user waits on the busiest day",
                    "http", "http.paced.conns64.load90.p50", OURS, XDP, "epoll"),
            new Key("HTTP latency at 90 % load, p99", "what one request in a hundred waits then",
                    "http", "http.paced.conns64.load90.p99", OURS, XDP, "epoll"),
            new Key("HTTP latency, one connection, p50", "a single request to an idle server",
                    "http", "http.plaintext.conns1.p50", OURS, XDP, "epoll"),
            new Key("HTTP answers per second on a plain veth pair, 64 connections",
                    "what a user sees who tries it first: the client's core pays for a part of the server's work",
                    "http-plain", "plain.http.plaintext.conns64.rate", OURS, XDP, "epoll"),
            new Key("The same, 99 of 100 wait less than", "what one request in a hundred waits there",
                    "http-plain", "plain.http.plaintext.conns64.p99", OURS, XDP, "epoll"),
            new Key("HTTP, one request there and back, asked by a client that polls, p50",
                    "what the server and the way take, without the client's kernel and its waking up",
                    "http-polled", "plain.http.polled.conns1.p50", OURS, XDP, "epoll"),
            new Key("The same, p99", "what one request in a hundred waits then",
                    "http-polled", "plain.http.polled.conns1.p99", OURS, XDP, "epoll"),
            new Key("HTTP answers per second, asked by a client that polls, 64 connections",
                    "what a server answers whose client costs the host little",
                    "http-polled", "plain.http.polled.conns64.rate", OURS, XDP, "epoll"),
            new Key("Redis GETs per second of the server's processor time, asked by a client that polls",
                    "how many questions of a cache a core answers where the client is no bound",
                    "redis-polled", "redis.polled.conns100.perServerCpu", OURS, XDP, "epoll"),
            new Key("DNS answers per second of the server's processor time, asked by a client that polls",
                    "the same of a name server",
                    "dns-polled", "dns.polled.conns200.perServerCpu", OURS, XDP, "epoll"),
            new Key("Redis GETs per second of the server's processor time, 100 connections",
                    "how many questions of a cache a core answers",
                    "redis", "redis.conns100.perServerCpu", OURS, XDP, "epoll"),
            new Key("DNS answers per second of the server's processor time", "how many questions a core answers",
                    "dns", "dns.perServerCpu", OURS, XDP, "epoll"),
            new Key("DNS answers per second", "how many questions a server with one loop answers",
                    "dns", "dns.rate", OURS, XDP, "epoll"),
            new Key("Datagrams echoed over veth, AF_XDP", "UDP under load: 64 datagrams on their way at any time",
                    "udp", "udp.wire.echo.window64", DATAGRAMS, XDP, "epoll-recvmmsg"),
            new Key("One datagram there and back over veth", "UDP without load",
                    "udp", "udp.wire.rtt.p50", DATAGRAMS, XDP, "epoll-recvmmsg"),
            new Key("Datagrams between two loops of a process, one at a time", "UDP in memory, as tests use it",
                    "udp", "udp.rr.window1", OURS, null, "nio"),
            new Key("TCP over veth, request and response, per second of the server's processor time",
                    "small messages on many connections, without a protocol above",
                    "tcp", "tcp\\.wire\\.rr\\.conns\\d\\d+\\.perServerCpu", OURS, null, "epoll"),
            new Key("TCP over veth, one request there and back", "one connection to an idle server",
                    "tcp", "tcp.wire.rr.conns1.p50", OURS, null, "epoll"),
            new Key("TCP in one process, connections opened and closed", "what a handshake and an end cost",
                    "tcp", "tcp.loop.connect", OURS, null, "epoll"),
            new Key("TCP core alone, request and response, 1,000 connections, per second of a core",
                    "the most that TCP in Java leaves room for",
                    "tcp-core", "tcp-core.rr.conns1000", OURS, null, null),
            new Key("Heap of an idle TCP connection, without its channel", "memory of many connections",
                    "tcp-core", "tcp-core.heap.idle", OURS, null, null),
            new Key("Four loops with a channel each and nothing to do", "what an idle server takes",
                    "idle", "idle.loops4", OURS, null, null),
            new Key("Frames echoed over veth, AF_XDP", "raw frames, beside a program in C on the same device",
                    "wire", "echo.window64", OURS, XDP, "c"),
            new Key("The same, beside Netty's datagrams", "raw frames, beside what Netty had for UDP",
                    "wire", "echo.window64", OURS, XDP, "epoll-recvmmsg"),
            new Key("A frame received through a Netty pipeline, in memory", "what Java adds to C for each frame",
                    "frames", "rx.burst64", OURS, null, "c"),
            new Key("A frame received and sent back, in memory", "the same in both directions",
                    "frames", "echo.burst64", OURS, null, "c"),
            new Key("The same, a burst as one message", "the same where a handler takes bursts",
                    "frames", "echo.burst64", "rdma-raw-bursts", null, "c"),
            new Key("Receive by a ConnectX's rings, not by libmlx5 (emulated card)", "what direct rings save",
                    "emulated", "receive.burst64", "rdma-raw-rings", null, "rdma-raw-calls"),
            new Key("Send by a ConnectX's rings, not by libmlx5 (emulated card)", "the same for sends",
                    "emulated", "send.burst64", "rdma-raw-rings", null, "rdma-raw-calls"));

    /**
     * A figure of a report.
     *
     * @param what    description for the reader
     * @param meaning effect for a user
     * @param value   value with its unit
     * @param to      reference, with its median if the report has it; empty if there is none
     * @param ratio   median of the ratios, or 0 if there are none
     * @param spread  range of the ratios, or of the values if there are no ratios
     */
    record Figure(String what, String meaning, String value, String to, double ratio, String spread) {
    }

    private KeyFigures() {
    }

    /** Returns the descriptions of all figures, measured or not. */
    static List<String> names() {
        return KEYS.stream().map(Key::what).toList();
    }

    /** Returns the figures that were measured. */
    static List<Figure> of(Report report) {
        List<Figure> figures = new ArrayList<>();
        for (Key key : KEYS) {
            key.find(report).ifPresent(row -> figures.add(figure(key, row, report)));
        }
        return figures;
    }

    /**
     * Passes each figure that is missing in a successful measurement to a consumer, with the name of the measurement.
     */
    static void missing(Report report, BiConsumer<String, String> each) {
        for (Key key : KEYS) {
            boolean wanted = report.results().stream().anyMatch(result -> result.name().equals(key.bench())
                    && result.result() != null);
            if (wanted && key.find(report).isEmpty()) {
                each.accept(key.bench(), key.what());
            }
        }
    }

    private static Figure figure(Key key, JsonNode row, Report report) {
        String unit = row.path("unit").asText();
        String value = Html.number(row.path("median").asDouble()) + ' ' + unit;
        if (key.ratioTo() == null) {
            return new Figure(key.what(), key.meaning(), value, "", 0, spread(row, "min", "max"));
        }
        String other = report.rows(key.bench()).filter(each -> each.path("case").equals(row.path("case"))
                && each.path("transport").equals(row.path("ratioTo"))).findFirst()
                .map(each -> " (" + Html.number(each.path("median").asDouble()) + ')').orElse("");
        return new Figure(key.what(), key.meaning(), value, named(row.path("ratioTo").asText()) + other,
                row.path("ratioMedian").asDouble(), spread(row, "ratioMin", "ratioMax"));
    }

    private static String spread(JsonNode row, String least, String most) {
        return Html.number(row.path(least).asDouble()) + " to " + Html.number(row.path(most).asDouble());
    }

    private static String named(String transport) {
        return switch (transport) {
            case "c" -> "C, same device";
            case "epoll" -> "Netty epoll";
            case "epoll-tuned" -> "Netty epoll, tuned";
            case "epoll-recvmmsg" -> "Netty epoll, recvmmsg";
            case "nio" -> "Netty NIO";
            case "rdma-raw-calls" -> "calls of libmlx5";
            default -> transport;
        };
    }
}
