package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecordType;
import io.rdmaraw.examples.server.ExampleException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses a master file (RFC 1035 section 5). Supports {@code $ORIGIN}, {@code $TTL}, one record per line with its name,
 * {@code @}, relative names, quoted strings, comments, and the types of {@link RecordData}.
 */
final class ZoneFile {
    private static final String BUILT_IN = "/example.zone";
    private static final Pattern WORD = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"|[^\\s\";]+|;.*");
    private static final int MAX_NAME_LENGTH = 254;

    private final String source;
    private final List<ZoneRecord> records = new ArrayList<>();
    private final Map<String, String> aliases = new HashMap<>();
    private String origin;
    private String zoneName;
    private long ttlSeconds = 3600;
    private String lastName;

    private ZoneFile(String source) {
        this.source = source;
    }

    static Zone builtIn() throws IOException {
        try (InputStream in = ZoneFile.class.getResourceAsStream(BUILT_IN)) {
            return parse(BUILT_IN, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    static Zone read(Path file) throws IOException {
        return parse(file.toString(), Files.readString(file));
    }

    /**
     * Parses a zone.
     *
     * @param source name of the source, for error messages
     */
    static Zone parse(String source, String text) {
        ZoneFile file = new ZoneFile(source);
        int number = 0;
        for (String line : text.lines().toList()) {
            number++;
            try {
                file.line(line);
            } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                throw new ExampleException(source + ':' + number + ": cannot read '" + line + "': " + e.getMessage(),
                        e);
            }
        }
        return file.zone();
    }

    private Zone zone() {
        try {
            if (zoneName == null) {
                throw new IllegalArgumentException("there is no SOA record");
            }
            return new Zone(zoneName, records, aliases);
        } catch (IllegalArgumentException e) {
            throw new ExampleException(source + ": " + e.getMessage(), e);
        }
    }

    private void line(String line) {
        List<String> words = words(line);
        if (words.isEmpty()) {
            return;
        }
        switch (words.getFirst().toUpperCase(Locale.ROOT)) {
            case "$ORIGIN" -> origin = absolute(words.get(1));
            case "$TTL" -> ttlSeconds = Long.parseLong(words.get(1));
            default -> record(words, Character.isWhitespace(line.charAt(0)));
        }
    }

    private static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(line);
        while (matcher.find()) {
            if (matcher.group().startsWith(";")) {
                break;
            }
            words.add(matcher.group(1) != null ? matcher.group(1).replaceAll("\\\\(.)", "$1") : matcher.group());
        }
        return words;
    }

    private void record(List<String> words, boolean nameAsBefore) {
        int next = 0;
        if (!nameAsBefore) {
            lastName = absolute(words.get(next++));
        }
        if (lastName == null) {
            throw new IllegalArgumentException("it begins with a blank, but there is no record before it");
        }
        long ttl = ttlSeconds;
        if (words.get(next).matches("\\d+")) {
            ttl = Long.parseLong(words.get(next++));
        }
        if (words.get(next).equalsIgnoreCase("IN")) {
            next++;
        }
        DnsRecordType type = DnsRecordType.valueOf(words.get(next).toUpperCase(Locale.ROOT));
        List<String> values = words.subList(next + 1, words.size());
        if (type.equals(DnsRecordType.SOA)) {
            zoneName = lastName;
        } else if (type.equals(DnsRecordType.CNAME)) {
            aliases.put(lastName, absolute(values.getFirst()));
        }
        records.add(ZoneRecord.of(lastName, type, ttl, RecordData.encode(type, values, this::absolute)));
    }

    /** Converts a name to an absolute one in lower case. A name without a trailing dot is relative to the origin. */
    private String absolute(String name) {
        if (!name.endsWith(".") && origin == null) {
            throw new IllegalArgumentException('\'' + name + "' is relative, but there is no $ORIGIN before it");
        }
        String whole = name.equals("@") ? origin : name.endsWith(".") ? name : name + '.' + origin;
        if (whole.length() > MAX_NAME_LENGTH) {
            throw new IllegalArgumentException("the name is longer than 254 characters");
        }
        return whole.toLowerCase(Locale.ROOT);
    }
}
