package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The records of a zone by name and type. Immutable. */
final class Zone {
    private static final int MAX_ALIASES = 8;
    private static final Answer REFUSED = new Answer(DnsResponseCode.REFUSED, List.of(), List.of());

    /** The answer to a question. */
    record Answer(DnsResponseCode code, List<ZoneRecord> records, List<ZoneRecord> authority) {
    }

    private final String origin;
    private final String belowOrigin;
    private final Map<String, Map<DnsRecordType, Answer>> names = new HashMap<>();
    private final Answer noData;
    private final Answer noName;

    /**
     * Creates a zone.
     *
     * @param origin  name of the zone in lower case, with a trailing dot
     * @param records all records of the zone, including its SOA record
     * @param aliases target of each CNAME record by the record's name
     */
    Zone(String origin, List<ZoneRecord> records, Map<String, String> aliases) {
        this.origin = origin;
        belowOrigin = '.' + origin;
        Map<String, Map<DnsRecordType, List<ZoneRecord>>> sets = new HashMap<>();
        for (ZoneRecord record : records) {
            addEmptyNames(sets, record.name());
            sets.get(record.name()).computeIfAbsent(record.type(), type -> new ArrayList<>()).add(record);
        }
        // A negative answer contains the SOA record, which limits how long it may be cached (RFC 2308).
        List<ZoneRecord> soa = sets.getOrDefault(origin, Map.of()).get(DnsRecordType.SOA);
        if (soa == null) {
            throw new IllegalArgumentException("the zone " + origin + " has no SOA record");
        }
        noData = new Answer(DnsResponseCode.NOERROR, List.of(), soa);
        noName = new Answer(DnsResponseCode.NXDOMAIN, List.of(), soa);
        sets.forEach((name, types) -> names.put(name, answers(name, types, sets, aliases)));
    }

    /**
     * Adds the empty non-terminals: names that have no records, but exist above a name with records (RFC 4592 section
     * 2.2.2).
     */
    private void addEmptyNames(Map<String, Map<DnsRecordType, List<ZoneRecord>>> sets, String name) {
        for (String above = name; sets.putIfAbsent(above, new HashMap<>()) == null && !above.equals(origin);) {
            above = above.substring(above.indexOf('.') + 1);
        }
    }

    private static Map<DnsRecordType, Answer> answers(String name, Map<DnsRecordType, List<ZoneRecord>> types,
            Map<String, Map<DnsRecordType, List<ZoneRecord>>> sets, Map<String, String> aliases) {
        Map<DnsRecordType, Answer> answers = new HashMap<>();
        types.forEach((type, records) ->
                answers.put(type, found(records.stream().map(ZoneRecord::withNameOfQuestion).toList())));
        // The answer for an alias also contains the records of its target in this zone (RFC 1034 section 4.3.2).
        List<ZoneRecord> chain = new ArrayList<>();
        String current = name;
        for (int i = 0; i < MAX_ALIASES && aliases.containsKey(current); i++) {
            ZoneRecord alias = sets.get(current).get(DnsRecordType.CNAME).getFirst();
            chain.add(current.equals(name) ? alias.withNameOfQuestion() : alias);
            current = aliases.get(current);
        }
        if (!chain.isEmpty()) {
            sets.getOrDefault(current, Map.of()).forEach((type, records) -> {
                List<ZoneRecord> whole = new ArrayList<>(chain);
                whole.addAll(records);
                answers.putIfAbsent(type, found(whole));
            });
            // For any other type, the alias itself is the answer.
            answers.put(DnsRecordType.ANY, found(chain));
        }
        return Map.copyOf(answers);
    }

    private static Answer found(List<ZoneRecord> records) {
        return new Answer(DnsResponseCode.NOERROR, List.copyOf(records), List.of());
    }

    /**
     * Returns the answer to a question.
     *
     * @param name name in lower case with a trailing dot
     */
    Answer find(String name, DnsRecordType type) {
        Map<DnsRecordType, Answer> types = names.get(name);
        if (types == null) {
            return name.endsWith(belowOrigin) ? noName : REFUSED;
        }
        Answer answer = types.get(type);
        return answer != null ? answer : types.getOrDefault(DnsRecordType.ANY, noData);
    }
}
