package io.rdmaraw.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Formatting of numbers and tables, and the live line. */
class OutputTest {
    @Test
    void roundsToFourDigits() {
        assertEquals(0, Json.rounded(0));
        assertEquals(0.0001235, Json.rounded(0.00012345678));
        assertEquals(12.35, Json.rounded(12.345678));
        assertEquals(1234568, Json.rounded(1234567.8));
        assertEquals(-1.235, Json.rounded(-1.23456));
    }

    @Test
    void tablesAlign() {
        StringWriter text = new StringWriter();
        TextTable table = new TextTable("name", "n");
        table.row("a", "1").row("longer", "1,234").print(new PrintWriter(text));
        assertEquals("name        n\na           1\nlonger  1,234\n", text.toString());
        assertThrows(IllegalArgumentException.class, () -> table.row("one"));
    }

    /** Lines are cut at the width of the terminal: a wrapped line would shift the lines below it. */
    @Test
    void aScreenIsAsWideAsItsTerminal() {
        String text = "LOOP    WORK\nloop-1  100%\n\nx\n";
        assertEquals("LOOP  …\nloop-1…\n\nx\n", TerminalWidth.truncate(text, 7));
        assertEquals(text, TerminalWidth.truncate(text, 12));
        assertEquals(text, TerminalWidth.truncate(text, Integer.MAX_VALUE));
        assertTrue(TerminalWidth.columns() > 0);
    }

    @Test
    void liveLineEndsWithTheLatchOrTheCondition() throws Exception {
        StringWriter text = new StringWriter();
        AtomicLong frames = new AtomicLong();
        LiveLine line = new LiveLine(new PrintWriter(text), "rx", frames::incrementAndGet, () -> 0, "lost", () -> 0);
        assertTrue(line.watch(0, new CountDownLatch(0), () -> true) >= 0);
        assertTrue(line.watch(0, new CountDownLatch(1), () -> false) >= 0);
        assertTrue(line.watch(1_000_000, new CountDownLatch(1), () -> true) >= 1_000_000);
        assertEquals("", text.toString());
    }
}
