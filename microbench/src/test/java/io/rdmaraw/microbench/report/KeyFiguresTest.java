package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The key figures and charts of real runs of {@code bench tcp --wire-only} and {@code bench http}. The recorded output
 * was changed to a count of three runs.
 */
class KeyFiguresTest {
    private static MeasurementResult real(String bench) throws Exception {
        try (InputStream in = KeyFiguresTest.class.getResourceAsStream(bench + ".json")) {
            return PageTest.run(bench, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    @ParameterizedTest
    @CsvSource({"tcp, 'TCP over veth, request and response', 'TCP over veth, one request'",
        "http, 'HTTP answers per second, 64', 'HTTP latency, one connection'"})
    void theFiguresAreFoundInRealOutput(String bench, String first, String second) throws Exception {
        List<String> figures = KeyFigures.of(PageTest.report(real(bench))).stream()
                .map(KeyFigures.Figure::what).toList();
        for (String what : List.of(first, second)) {
            assertTrue(figures.stream().anyMatch(figure -> figure.startsWith(what)), what + " in " + figures);
        }
    }

    @Test
    void everyFigureOfHttpIsThere() throws Exception {
        List<Gaps.Gap> gaps = Gaps.of(PageTest.report(real("http")));
        assertEquals(List.of(), gaps);
    }

    @Test
    void figureComparesWithTheStrongerFormOfTheRival() throws Exception {
        String row = """
                {"case": "dns.rate", "transport": "%s", "device": "%s", "unit": "answers/s", "min": 1, "median": %d,
                 "max": 9, "runs": 3%s}""";
        String ratio = ", \"ratioTo\": \"%s\", \"ratioMin\": 1, \"ratioMedian\": %d, \"ratioMax\": 3";
        String stock = String.join(",", row.formatted("epoll", "veth", 4, ""),
                row.formatted("rdma-raw", "soft:xdp", 8, ratio.formatted("epoll", 2)));
        String tuned = String.join(",", row.formatted("epoll-tuned", "veth", 8, ""),
                row.formatted("rdma-raw", "soft:xdp", 8, ratio.formatted("epoll-tuned", 1)));

        KeyFigures.Figure besideTuned = dnsRate("{\"rows\":[" + stock + ',' + tuned + "]}");
        assertEquals(1, besideTuned.ratio());
        assertEquals("Netty epoll, tuned (8)", besideTuned.to());
        String slower = String.join(",", row.formatted("epoll-tuned", "veth", 2, ""),
                row.formatted("rdma-raw", "soft:xdp", 8, ratio.formatted("epoll-tuned", 4)));
        assertEquals("Netty epoll (4)", dnsRate("{\"rows\":[" + stock + ',' + slower + "]}").to());
        KeyFigures.Figure besideStock = dnsRate("{\"rows\":[" + stock + "]}");
        assertEquals(2, besideStock.ratio());
        assertEquals("Netty epoll (4)", besideStock.to());
    }

    private static KeyFigures.Figure dnsRate(String json) throws Exception {
        return KeyFigures.of(PageTest.report(PageTest.run("dns", json))).getFirst();
    }

    /** The recorded output is shortened. The only gap must be the figure that was removed. */
    @Test
    void missingFigureIsAGap() throws Exception {
        assertEquals(List.of("TCP in one process, connections opened and closed"),
                Gaps.of(PageTest.report(real("tcp"))).stream().map(Gaps.Gap::what).toList());
    }

    @ParameterizedTest
    @CsvSource({"tcp, 'tcp.wire.rr, round trips/s'", "http, 'http.plaintext.rate, answers/s'",
        "tcp, 'tcp.wire.rr.p99, us'"})
    void throughputAndLatencyAreDrawnOverTheConnections(String bench, String title) throws Exception {
        List<String> charts = Charts.of(real(bench).result()).stream().map(Chart::svg).toList();
        assertTrue(charts.stream().anyMatch(chart -> chart.contains(title) && chart.contains(">connections<")),
                title + " in " + charts);
    }
}
