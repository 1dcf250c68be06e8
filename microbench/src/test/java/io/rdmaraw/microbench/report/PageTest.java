package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.microbench.BenchRun;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

class PageTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    static final String ROWS = """
            {"bench":"frames","rows":[
            {"case":"rx.burst8","transport":"rdma-raw","device":"soft:loop","unit":"ns/frame","min":80,"median":100,
             "max":130,"runs":5,"ratioTo":"c","ratioMin":0.4,"ratioMedian":0.5,"ratioMax":0.6},
            {"case":"rx.burst8","transport":"c","device":"soft:loop","unit":"ns/frame","min":40,"median":50,"max":60,
             "runs":5},
            {"case":"rx.burst64","transport":"rdma-raw","device":"soft:loop","unit":"ns/frame","min":50,"median":60,
             "max":70,"runs":5,"ratioTo":"c","ratioMin":1.1,"ratioMedian":1.2,"ratioMax":1.3},
            {"case":"rx.burst64","transport":"c","device":"soft:loop","unit":"ns/frame","min":70,"median":72,"max":80,
             "runs":5}]}""";
    private static final String LATENCY = """
            {"test_info":{"test":"Send_Latency_Test"},"rows":[{"MsgSize":64,"t_min":1,"t_max":900,"t_typical":2,
             "percentile_99":5,"percentile_99.9":20,"percentile_99.99":300,"from":"schedule"}]}""";

    static Measurement measurement(String name) {
        return new Measurement(name, "what <it> serves", List.of("bench", name, "--json"), 1, false);
    }

    static MeasurementResult run(String name, String json) throws Exception {
        return MeasurementResult.of(measurement(name), 12, MAPPER.readTree(json));
    }

    static Report report(MeasurementResult... results) {
        ObjectNode machine = MAPPER.createObjectNode().put("cpu", "a CPU").put("cores", 2).put("loadAverage", 1.9);
        ObjectNode sample = MAPPER.createObjectNode().put("sameWorkMedianMillis", 2.0).put("sameWorkMaxMillis", 2.5);
        ObjectNode noise = MAPPER.createObjectNode().put("stolenPercent", 0.7);
        noise.set("before", sample);
        noise.set("after", sample.deepCopy().put("sameWorkMaxMillis", 3.0));
        return new Report(machine, MAPPER.createObjectNode(), noise, "./rdma-raw report", "2026-01-01",
                List.of(results));
    }

    private static String page(MeasurementResult... results) {
        return new Page(report(results)).render("");
    }

    @Test
    void pageHasEveryComparisonAndTheGaps() throws Exception {
        String page = page(run("frames", ROWS), MeasurementResult.failed(measurement("wire"), 3, "it needs <root>"));
        String comparisons = page.substring(page.indexOf("Side by side"), page.indexOf("<h2 id=\"frames\">frames"));
        assertEquals(2, comparisons.split("<td class=\"n (up|down)\">", -1).length - 1, comparisons);
        assertTrue(comparisons.contains("down\">0.50") && comparisons.contains("up\">1.20"), comparisons);
        assertTrue(page.contains("0.50 of c (0.40 to 0.60)"), page);
        assertTrue(page.contains("Not measured: it needs &lt;root&gt;"), page);
        assertTrue(page.contains("what &lt;it&gt; serves"), page);
        assertTrue(page.contains("<code>./rdma-raw bench frames --json</code>"), page);
        assertTrue(page.contains("Other programs wanted 1.9 of the 2 cores"), page);
        assertFalse(page.contains("http://") || page.contains("https://"), "the page needs nothing else");
    }

    /** Results for users precede results for developers of the transport. Rows with a ratio below 1 are marked. */
    @Test
    void httpComesFirstAndWorseRatiosAreRed() throws Exception {
        String http = """
                {"rows":[{"case":"http.plaintext.conns64.rate","transport":"rdma-raw","device":"soft:xdp",
                 "unit":"answers/s","min":1,"median":2,"max":3,"runs":3,
                 "ratioTo":"epoll","ratioMin":0.7,"ratioMedian":0.8,"ratioMax":0.9},
                {"case":"http.paced.conns64.load50.generatorLate","transport":"rdma-raw","device":"soft:xdp",
                 "unit":"us","min":1,"median":2,"max":3,"runs":3,
                 "ratioTo":"epoll","ratioMin":3,"ratioMedian":3,"ratioMax":3},
                {"case":"http.plaintext.conns64.rate","transport":"epoll","device":"veth",
                 "unit":"answers/s","min":1,"median":2,"max":3,"runs":3,
                 "ratioTo":"c","ratioMin":0.1,"ratioMedian":0.1,"ratioMax":0.1}]}""";
        String page = page(run("frames", ROWS), run("http", http));
        assertTrue(page.indexOf("HTTP answers per second, 64") < page.indexOf("A frame received through"), page);
        assertTrue(page.indexOf("<h3>http</h3>") < page.indexOf("<h3>frames</h3>"), page);
        assertTrue(page.indexOf("<h2 id=\"http\">") < page.indexOf("<h2 id=\"frames\">"), page);
        assertTrue(page.contains("<tr class=\"down\"><td>HTTP answers per second, 64 connections<small>how"), page);
        String comparisons = page.substring(page.indexOf("<h3>http</h3>"), page.indexOf("<h3>frames</h3>"));
        assertEquals(1, comparisons.split("<tr class", -1).length - 1, "only ours: " + comparisons);
    }

    @Test
    void chartsAreDrawnFromTheFormOfTheRows() throws Exception {
        List<Chart> charts = Charts.of(MAPPER.readTree(ROWS));
        assertEquals(2, charts.size());
        assertTrue(charts.getFirst().svg().contains("rx, ns/frame") && charts.getFirst().svg().contains(">burst<"));
        assertEquals(2, charts.getFirst().svg().split("<path", -1).length - 1, "a line for each transport");
        assertTrue(charts.getLast().svg().contains("cost of a frame, split"));
        List<Chart> latency = Charts.of(MAPPER.readTree(LATENCY));
        assertEquals(1, latency.size());
        assertTrue(latency.getFirst().svg().contains("from the schedule")
                && latency.getFirst().svg().contains("1,000"));
        for (Chart each : List.of(charts.getFirst(), charts.getLast(), latency.getFirst())) {
            String chart = each.svg();
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(chart)));
            assertFalse(chart.contains("NaN") || chart.contains("Infinity"), chart);
        }
    }

    @Test
    void transportsWithoutALineStandSideBySide() throws Exception {
        List<Chart> charts = Charts.of(MAPPER.readTree("""
                {"rows":[{"case":"rtt.p50","transport":"c","device":"veth","unit":"us","median":4},
                {"case":"rtt.p50","transport":"epoll","device":"veth","unit":"us","median":9},
                {"case":"rtt.p50","transport":"rdma-raw","device":"veth","unit":"us","median":5}]}"""));
        assertEquals(1, charts.size());
        assertEquals(3, charts.getFirst().svg().split("<rect", -1).length - 1);
        assertTrue(charts.getFirst().svg().contains("rtt.p50, us")
                && charts.getFirst().svg().contains("rdma-raw veth"));
    }

    @Test
    void axesEndAtRoundNumbers() {
        assertEquals(List.of(0.0, 200.0, 400.0, 600.0), Axis.of(List.of(525.0, 26.0), 0, 1, false).ticks());
        assertEquals(List.of(1.0, 10.0, 100.0, 1000.0), Axis.of(List.of(1.5, 900.0), 0, 1, true).ticks());
        assertEquals(50, Axis.of(List.of(10.0), 0, 100, false).place(5), 1e-9);
        assertEquals(50, new Axis(1, 100, 0, 100, true).place(10), 1e-9);
    }

    @Test
    void everyBenchIsInTheReport() {
        List<String> names = Measurements.all(true, "soft:loop").stream().map(Measurement::name).toList();
        assertTrue(names.containsAll(List.of("frames", "udp", "tcp-core", "bw.burst64", "lat", "flow-rate")),
                names.toString());
        assertTrue(Measurements.all(true, "soft:loop").stream().filter(m -> m.name().equals("frames")).findFirst()
                .orElseThrow().commandLine().equals("./rdma-raw bench frames --quick --json"));
    }

    /** The sum of all budgets leaves time for the launcher and for writing the page. */
    @Test
    void theBudgetsOfAQuickReportFitIntoTwelveMinutes() {
        double sum = Measurements.all(true, "soft:loop").stream().mapToDouble(Measurement::budgetSeconds).sum()
                + Microbenches.QUICK_SECONDS;
        assertTrue(sum <= ReportCommand.QUICK_SECONDS && ReportCommand.QUICK_SECONDS < 710, "sum " + sum);
    }

    @Test
    void benchThatRunsTooLongIsEndedAndReported() throws Exception {
        MeasurementResult result = new MeasurementProcess(new Measurement("asyncwatch", "never ends",
                List.of("asyncwatch", "soft:loop"), 1, false), 0.5, () -> true).run();
        assertTrue(result.result() == null && result.failure().contains("all that the report gives it"),
                result.toString());
    }

    @Test
    void failedBenchIsShownWithItsReason() throws Exception {
        MeasurementResult result = new MeasurementProcess(new Measurement("lat", "fails",
                List.of("lat", "-d", "soft:nothing"), 1, false), 60, () -> true).run();
        assertTrue(result.result() == null && result.failure().contains("soft:nothing"), result.toString());
        assertFalse(result.failure().startsWith("rdma-raw:"), result.failure());
    }

    @Test
    void aFramesCostIsSplitByWork() throws Exception {
        StringBuilder rows = new StringBuilder();
        String[] works = {"GENERATOR 640", "RX 1280", "RX_6_HANDLERS 1920", "ECHO 3200"};
        for (String work : works) {
            rows.append(rows.isEmpty() ? "" : ",").append("{\"case\":\"FramePath.roundOfOneBurst burst=64 work=")
                    .append(work.split(" ")[0]).append("\",\"transport\":\"jmh\",\"unit\":\"ns/op\",\"median\":")
                    .append(work.split(" ")[1]).append('}');
        }
        List<Chart> charts = Charts.of(MAPPER.readTree("{\"rows\":[" + rows + "]}"));
        assertEquals(1, charts.size());
        String svg = charts.getFirst().svg();
        assertTrue(svg.contains("receiving, pipeline, release: 10") && svg.contains("what the handler does: 30"), svg);
        assertFalse(svg.contains("burst messages"), "what was not measured is not drawn");
    }

    @Test
    void aReportIsWritten(@TempDir Path directory) throws Exception {
        BenchRun run = BenchRun.of("report", "--quick", "--only", "flow-rate", "--out", directory.toString());
        assertEquals(0, run.exitCode(), run.err());
        JsonNode json = MAPPER.readTree(directory.resolve("report.json").toFile());
        assertEquals("flow-rate", json.get("measurements").get(0).get("name").asText());
        assertEquals(2, json.get("measurements").get(0).get("result").get("rows").size());
        assertTrue(Files.readString(directory.resolve("report.html")).contains(">flow-rate</h2>"));
    }

    @Test
    void anUnknownNameIsRefused() {
        BenchRun run = BenchRun.of("report", "--only", "nothing");
        assertEquals(2, run.exitCode());
        assertTrue(run.err().contains("there are frames"), run.err());
    }
}
