package io.rdmaraw.microbench.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class StreamFiguresTest {
    private final StringWriter progress = new StringWriter();
    private final StreamOptions options = new StreamOptions(List.of(Transport.RDMA_RAW, Transport.EPOLL), 2, false, 0,
            0, "", Offloads.AS_MADE, false, FloodKind.SYN, Pattern.compile("conns64$"));
    private final StreamFigures figures = new StreamFigures("tcp.loop.", Transport::toString, options,
            new PrintWriter(progress));

    private static Map<String, Figure> rate(double value) {
        return Map.of("", new Figure(Unit.ROUND_TRIPS_PER_SECOND, value));
    }

    private JsonNode report() {
        BenchReport report = new BenchReport("tcp");
        figures.addTo(report);
        return report.toJson();
    }

    @Test
    void whatFailsIsNamedOnceAndTheRestIsKept() throws InterruptedException {
        AtomicInteger starts = new AtomicInteger();
        StreamEnds broken = new StreamEnds(() -> {
            starts.incrementAndGet();
            throw new ToolException("it does not start");
        });
        StreamCase failing = new StreamCase.RequestResponse(64, StreamCase.Cores.SHARED);
        figures.add("rr.conns1", Transport.RDMA_RAW, 1, rate(30));
        figures.add("rr.conns1", Transport.EPOLL, 1, rate(10));
        figures.measure(failing, Transport.RDMA_RAW, 0, broken, 0);
        figures.measure(failing, Transport.RDMA_RAW, 1, broken, 0);
        figures.add("rr.conns64", Transport.EPOLL, 1, rate(20));
        JsonNode report = report();
        assertEquals(1, starts.get());
        assertEquals(1, report.required("notMeasured").size());
        assertEquals("tcp.loop.rr.conns64 on rdma-raw",
                report.required("notMeasured").get(0).required("what").asText());
        assertEquals("it does not start", report.required("notMeasured").get(0).required("reason").asText());
        assertEquals(List.of("tcp.loop.rr.conns1", "tcp.loop.rr.conns1", "tcp.loop.rr.conns64"),
                report.required("rows").findValuesAsText("case"));
        assertEquals(3, report.required("rows").get(1).required("ratioMedian").asDouble());
    }

    @Test
    void comparesWhatWasMeasuredInTheSameRun() {
        figures.add("rr.conns1", Transport.RDMA_RAW, 1, rate(30));
        figures.add("rr.conns1", Transport.RDMA_RAW, 2, rate(80));
        figures.add("rr.conns1", Transport.EPOLL, 2, rate(20));
        JsonNode ours = report().required("rows").get(1);
        assertEquals(4, ours.required("ratioMin").asDouble());
        assertEquals(4, ours.required("ratioMax").asDouble());
        assertFalse(report().has("notMeasured"));
    }

    @Test
    void onlyWhatIsWantedIsMeasured() {
        List<StreamCase> cases = List.of(new StreamCase.RequestResponse(64, StreamCase.Cores.SHARED),
                new StreamCase.RequestResponse(640, StreamCase.Cores.SHARED));
        assertEquals(cases.subList(0, 1), options.wanted("tcp.loop.", cases));
    }

    /** A short bench leaves out the case that takes longest where it matters least. */
    @Test
    void aShortBenchHasTheFloodOnTwoTransports() {
        StreamCase flood = new StreamCase.Flood(64, 1_000, FloodKind.SYN);
        List<Transport> all = List.of(Transport.values());
        StreamOptions brief = new StreamOptions(all, 3, true, 0, 0, "", Offloads.AS_MADE, false, FloodKind.SYN,
                Pattern.compile(""));
        assertEquals(Set.of(Transport.RDMA_RAW, Transport.EPOLL),
                all.stream().filter(each -> brief.isWantedOn(flood, each)).collect(Collectors.toSet()));
        assertTrue(all.stream().allMatch(each -> options.isWantedOn(flood, each)));
        assertTrue(all.stream().allMatch(each -> brief.isWantedOn(new StreamCase.Bulk(true), each)));
    }
}
