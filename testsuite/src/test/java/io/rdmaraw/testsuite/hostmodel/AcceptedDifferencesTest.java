package io.rdmaraw.testsuite.hostmodel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class AcceptedDifferencesTest {
    private static final Path PAGE = Path.of("..", "docs", "design", "addresses-and-rules.md");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z0-9-]+)` \\| (difference|fault) \\| (.+?) \\|$");

    /** Each entry in the code has a row in the document, and the document has no other rows. */
    @Test
    void pageListsTheEntries() throws Exception {
        List<String> rows = ROW.matcher(Files.readString(PAGE)).results()
                .map(row -> row.group(1) + ", " + row.group(2) + ": " + row.group(3)).sorted().toList();
        assertEquals(AcceptedDifferences.all().stream()
                .map(entry -> entry.id() + ", " + (entry.isFault() ? "fault" : "difference") + ": " + entry.reason())
                .sorted().toList(), rows);
    }

    /** A difference is accepted only if entries explain all of its facts. */
    @Test
    void differenceIsAcceptedOnlyIfAllFactsAreExplained() {
        Probe probe = new Probe(Probe.Kind.SYN, 0, "10.0.0.2", "198.51.100.7", "10.0.0.1", 0);
        Answer twin = answer(1, "10.1.0.2%up1", "10.0.0.1");
        assertEquals(List.of("device-link"), ids(probe, answer(0, "10.0.0.2%up0", "10.0.0.1"), twin));
        assertEquals(List.of(), ids(probe, answer(2, "10.2.0.2%up2", "10.0.0.1"), twin));
        Answer refused = new Answer(null, java.util.Set.of(), "EACCES");
        assertEquals(List.of(), ids(probe, answer(0, "10.0.0.2%up0", "10.0.0.1"), refused));
    }

    /**
     * The kernel keeps the route by which it has received an open connection's packets (early demultiplexing). A filter
     * alone does not invalidate the route.
     */
    @Test
    void strictFilterHoldsForOpenConnections() {
        Answer none = new Answer("198.51.100.7", java.util.Set.of(), null);
        Answer other = answer(1, "10.1.0.2%up1", "192.0.2.77");
        List<String> strict = List.of("rp_filter 1");
        Probe data = new Probe(Probe.Kind.LIVE_DATA, 0, "10.0.0.4", "198.51.100.7", "192.0.2.77", 0);
        Answer twin = new Answer("198.51.100.7", other.replies(), null);
        assertEquals(List.of("rp-filter-of-open-connections"), ids(data, none, twin, strict));
        assertEquals(List.of(), ids(data, none, twin, List.of("rp_filter 2")));
        Probe opening = new Probe(Probe.Kind.EXCHANGE, 0, "10.0.0.4", "198.51.100.7", "192.0.2.77", 0);
        assertEquals(List.of(), ids(opening, none, twin, strict));
    }

    /** The answer to a datagram leaves as any other does, even if the datagram was a broadcast. */
    @Test
    void answersToBroadcastsLeaveByTheDevice() {
        Answer ours = answer(0, "10.0.0.2%up0", "10.0.0.1");
        Answer twin = answer(1, "10.1.0.3%up1", "10.1.0.1");
        Probe datagram = new Probe(Probe.Kind.DATAGRAM, 0, "10.0.0.2", "198.51.100.7", "10.0.0.255", 8);
        assertEquals(List.of("device-link"), ids(datagram, ours, twin));
        Probe broadcast = new Probe(Probe.Kind.SEND, -1, "", "", "10.1.0.255", 8);
        assertEquals(List.of(), ids(broadcast, ours, twin));
    }

    /** The address is never a destination (RFC 4291 section 2.5.2), so an answer can reach nobody. */
    @Test
    void segmentsFromTheUnspecifiedAddressNeedNoAnswer() {
        Probe probe = new Probe(Probe.Kind.SYN, 0, "fe80::a", "::", "2001:db8:0::1", 0);
        Answer none = new Answer(null, java.util.Set.of(), null);
        Answer some = answer(1, "fe80::a%up1", "2001:db8:0::1");
        assertEquals(List.of("unspecified-source"), ids(probe, none, some));
        Probe other = new Probe(Probe.Kind.SYN, 0, "fe80::a", "2001:db8:f0::7", "2001:db8:0::1", 0);
        assertEquals(List.of(), ids(other, none, some));
        Probe datagram = new Probe(Probe.Kind.DATAGRAM, 0, "fe80::a", "::", "2001:db8:0::1", 8);
        assertEquals(List.of(), ids(datagram, none, some));
    }

    private static Answer answer(int link, String nextHop, String source) {
        return new Answer(null, java.util.Set.of(new Answer.Reply(link, nextHop, source, "SYN-ACK mss 1460")), null);
    }

    private static List<String> ids(Probe probe, Answer ours, Answer twin) {
        return ids(probe, ours, twin, List.of());
    }

    private static List<String> ids(Probe probe, Answer ours, Answer twin, List<String> changes) {
        return AcceptedDifferences.of(new Difference(0, probe, ours, twin, true, changes, () -> 1)).stream()
                .map(AcceptedDifferences.Entry::id).toList();
    }
}
