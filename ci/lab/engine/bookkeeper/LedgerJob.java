import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A client of BookKeeper that names no transport: writes a ledger of random entries to two bookies, reads it back, and
 * prints a number that depends on each byte that it has read. Arguments: where the metadata are, how often, and how
 * many thousands of bytes an eighth of the ledger has.
 */
public final class LedgerJob {
    private static final int PARTITIONS = 8;
    private static final int ENTRY_BYTES = 1_000;
    private static final int AT_ONCE = 200;
    private static final int COPIES = 2;
    private static final int PATIENCE_SECONDS = 120;
    private static final byte[] PASSWORD = "none".getBytes(StandardCharsets.US_ASCII);

    private LedgerJob() {
    }

    public static void main(String[] args) throws Exception {
        int jobs = Integer.parseInt(args[1]);
        int entries = PARTITIONS * Integer.parseInt(args[2]);
        ClientConfiguration settings = new ClientConfiguration();
        settings.setMetadataServiceUri(args[0]);
        try (BookKeeper bookKeeper = new BookKeeper(settings)) {
            create(bookKeeper, PATIENCE_SECONDS).close();
            for (int job = 0; job < jobs; job++) {
                long start = System.nanoTime();
                int result = run(bookKeeper, entries);
                System.out.printf(Locale.ROOT, "job %d result %08x seconds %.2f%n", job, result,
                        (System.nanoTime() - start) / 1e9);
            }
        }
    }

    /** The bookies may not have told yet that they are there. */
    private static LedgerHandle create(BookKeeper bookKeeper, int attempts) throws Exception {
        for (int attempt = 1;; attempt++) {
            try {
                return bookKeeper.createLedger(COPIES, COPIES, COPIES, BookKeeper.DigestType.CRC32C, PASSWORD);
            } catch (BKException.BKNotEnoughBookiesException e) {
                if (attempt >= attempts) {
                    throw e;
                }
                Thread.sleep(1_000);
            }
        }
    }

    private static int run(BookKeeper bookKeeper, int entries) throws Exception {
        long ledger;
        Semaphore room = new Semaphore(AT_ONCE);
        AtomicInteger failures = new AtomicInteger();
        try (LedgerHandle written = create(bookKeeper, 1)) {
            ledger = written.getId();
            Random random = new Random(entries);
            for (int i = 0; i < entries; i++) {
                byte[] entry = new byte[ENTRY_BYTES];
                random.nextBytes(entry);
                room.acquire();
                written.asyncAddEntry(entry, (code, handle, id, context) -> {
                    if (code != BKException.Code.OK) {
                        failures.incrementAndGet();
                    }
                    room.release();
                }, null);
            }
            room.acquire(AT_ONCE);
        }
        if (failures.get() > 0) {
            throw new IllegalStateException(failures + " entries were not written");
        }
        int result = 0;
        try (LedgerHandle read = bookKeeper.openLedger(ledger, BookKeeper.DigestType.CRC32C, PASSWORD)) {
            for (long first = 0; first < entries; first += AT_ONCE) {
                Enumeration<LedgerEntry> some = read.readEntries(first, Math.min(entries, first + AT_ONCE) - 1);
                while (some.hasMoreElements()) {
                    result = 31 * result + Arrays.hashCode(some.nextElement().getEntry());
                }
            }
        }
        bookKeeper.deleteLedger(ledger);
        return result;
    }
}
