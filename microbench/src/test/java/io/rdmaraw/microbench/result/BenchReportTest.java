package io.rdmaraw.microbench.result;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.tools.output.Json;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rows, their ratios, and the JSON that scripts read. */
class BenchReportTest {
    @Test
    void distributionsHaveAMedian() {
        assertEquals(new Distribution(1, 3, 9, 3), Distribution.of(List.of(9.0, 1.0, 3.0)));
        assertEquals(new Distribution(1, 2.5, 9, 4), Distribution.of(List.of(9.0, 1.0, 3.0, 2.0)));
        assertThrows(IllegalArgumentException.class, () -> Distribution.of(List.of()));
    }

    @Test
    void ratiosAreTakenPairByPairAndAboveOneIsBetter() {
        BenchRow cost = BenchRow.compared("c", "t", "d", Unit.NANOS_PER_FRAME, List.of(20.0, 40.0, 10.0), "ref",
                List.of(10.0, 10.0, 20.0));
        assertEquals(new Distribution(0.25, 0.5, 2, 3), cost.ratios());
        BenchRow rate = BenchRow.compared("c", "t", "d", Unit.MEGAFRAMES_PER_SECOND, List.of(20.0), "ref",
                List.of(10.0));
        assertEquals(2, rate.ratios().median());
        assertThrows(IllegalArgumentException.class, () -> BenchRow.compared("c", "t", "d", Unit.NANOS_PER_FRAME,
                List.of(1.0), "ref", List.of()));
    }

    @Test
    void reportsAreOneLineOfJson() throws Exception {
        BenchReport report = new BenchReport("frames");
        report.add(BenchRow.of("rx.burst64", "c", "soft:loop", Unit.NANOS_PER_FRAME, List.of(17.23456, 17.5)));
        report.add(BenchRow.compared("rx.burst64", "rdma-raw", "soft:loop", Unit.NANOS_PER_FRAME, List.of(30.0, 35.0),
                "c", List.of(15.0, 14.0)));
        StringWriter text = new StringWriter();
        Json.print(new PrintWriter(text), report.toJson());
        assertEquals(text.toString().strip().lines().count(), 1);
        JsonNode json = new ObjectMapper().readTree(text.toString());
        assertEquals("frames", json.get("bench").asText());
        assertTrue(json.get("machine").get("cores").asInt() > 0);
        assertTrue(json.get("versions").get("netty").asText().startsWith("4.2."));
        JsonNode reference = json.get("rows").get(0);
        assertEquals(17.23, reference.get("min").asDouble());
        assertFalse(reference.has("ratioTo"));
        JsonNode row = json.get("rows").get(1);
        assertEquals("rx.burst64", row.get("case").asText());
        assertEquals(0.4, row.get("ratioMin").asDouble());
        assertEquals(0.45, row.get("ratioMedian").asDouble());
        assertEquals(0.5, row.get("ratioMax").asDouble());
        assertEquals(2, row.get("runs").asInt());
    }

    @Test
    void aRowOfMoreRunsTakesThePlaceOfTheSameOfFewer() {
        BenchReport report = new BenchReport("frames");
        report.add(BenchRow.of("rx", "c", "d", Unit.NANOS_PER_FRAME, List.of(1.0)));
        report.add(BenchRow.compared("rx", "ours", "d", Unit.NANOS_PER_FRAME, List.of(2.0), "c", List.of(1.0)));
        report.add(BenchRow.compared("rx", "ours", "d", Unit.NANOS_PER_FRAME, List.of(2.0), "epoll", List.of(1.0)));
        report.add(BenchRow.of("rx", "c", "d", Unit.NANOS_PER_FRAME, List.of(1.0, 3.0)));
        JsonNode rows = report.toJson().get("rows");
        assertEquals(3, rows.size());
        assertEquals(2, rows.get(0).get("runs").asInt());
        assertEquals(3, rows.get(0).get("max").asDouble());
    }
}
