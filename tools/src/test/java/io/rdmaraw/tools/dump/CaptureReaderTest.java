package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class CaptureReaderTest {
    private static CaptureReply reply(int uncapturedQueues, long[] seen, long[] dropped) {
        return new CaptureReply(true, uncapturedQueues, List.of(), seen, dropped, List.of());
    }

    private static String totals(CaptureReply... replies) {
        StringWriter text = new StringWriter();
        CaptureReader.printTotals(new PrintWriter(text), 5, List.of(replies));
        return text.toString();
    }

    @Test
    void totalsReportQueuesThatWereNotCaptured() {
        String counts = """
                5 frames captured
                10 frames seen by the filter
                3 frames dropped from the capture because its buffer was full (-B)
                """;
        assertEquals(counts, totals(reply(0, new long[] {1, 2}, new long[] {3, 0}), reply(0, new long[] {7},
                new long[] {0})));
        assertEquals(counts + "3 queues not captured, or not to the end; the log of the process has the reason\n",
                totals(reply(1, new long[] {10}, new long[] {3}), reply(2, new long[0], new long[0])));
    }
}
