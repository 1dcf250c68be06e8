package io.rdmaraw.examples.kv;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Values by key, with an optional time to live. Keys are byte strings, stored as Latin-1. Thread-safe. */
final class Store {
    private static final long NO_EXPIRY = Long.MAX_VALUE;

    /**
     * A value.
     *
     * @param expiryNanos time of expiry on the store's clock, or {@link #NO_EXPIRY}
     */
    private record Entry(byte[] value, long expiryNanos) {
    }

    private final ConcurrentHashMap<String, Entry> entries = new ConcurrentHashMap<>();
    private final LongSupplier nanoClock;
    private final long startNanos;

    Store(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
        startNanos = nanoClock.getAsLong();
    }

    private long now() {
        return nanoClock.getAsLong() - startNanos;
    }

    private Entry live(String key, Entry entry) {
        if (entry != null && entry.expiryNanos != NO_EXPIRY && entry.expiryNanos <= now()) {
            entries.remove(key, entry);
            return null;
        }
        return entry;
    }

    /** Returns the value, which must not be changed, or null. */
    byte[] get(String key) {
        Entry entry = live(key, entries.get(key));
        return entry == null ? null : entry.value;
    }

    void set(String key, byte[] value) {
        entries.put(key, new Entry(value, NO_EXPIRY));
    }

    void set(String key, byte[] value, long lifeMillis) {
        entries.put(key, new Entry(value, expiry(lifeMillis)));
    }

    private long expiry(long lifeMillis) {
        long now = now();
        long lifeNanos = TimeUnit.MILLISECONDS.toNanos(Math.max(lifeMillis, 0));
        return lifeNanos >= NO_EXPIRY - now ? NO_EXPIRY - 1 : now + lifeNanos;
    }

    /** Deletes a value and returns whether there was one. */
    boolean delete(String key) {
        Entry removed = entries.remove(key);
        return removed != null && removed.expiryNanos > now();
    }

    /** Sets the time to live of a key. Returns false if there is no such key. */
    boolean expire(String key, long lifeMillis) {
        return entries.computeIfPresent(key, (k, entry) -> entry.expiryNanos <= now() ? null
                : new Entry(entry.value, expiry(lifeMillis))) != null;
    }

    /** Returns the remaining milliseconds of a key; -1 if it does not expire, -2 if there is no such key. */
    long lifeMillis(String key) {
        Entry entry = live(key, entries.get(key));
        if (entry == null) {
            return -2;
        }
        return entry.expiryNanos == NO_EXPIRY ? -1 : TimeUnit.NANOSECONDS.toMillis(entry.expiryNanos - now());
    }

    /**
     * Adds to a number. A missing key counts as 0.
     *
     * @throws NumberFormatException if the value is not a number
     * @throws ArithmeticException if the sum is too large
     */
    long add(String key, long increment) {
        Entry entry = entries.compute(key, (k, old) -> {
            boolean present = old != null && old.expiryNanos > now();
            long sum = Math.addExact(present ? Long.parseLong(text(old.value)) : 0, increment);
            return new Entry(Long.toString(sum).getBytes(StandardCharsets.ISO_8859_1),
                    present ? old.expiryNanos : NO_EXPIRY);
        });
        return Long.parseLong(text(entry.value));
    }

    private static String text(byte[] value) {
        return new String(value, StandardCharsets.ISO_8859_1);
    }

    int size() {
        return entries.size();
    }
}
