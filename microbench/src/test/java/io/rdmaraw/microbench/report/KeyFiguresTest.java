package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The figures and charts of real runs, counted as three, of {@code bench tcp --wire-only} and {@code bench http}. */
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

    /** What the shortened output leaves out is told, and nothing else. */
    @Test
    void whatIsNotThereIsAGap() throws Exception {
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
