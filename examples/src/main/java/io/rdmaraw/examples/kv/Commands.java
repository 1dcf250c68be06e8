package io.rdmaraw.examples.kv;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.redis.ArrayRedisMessage;
import io.netty.handler.codec.redis.ErrorRedisMessage;
import io.netty.handler.codec.redis.FullBulkStringRedisMessage;
import io.netty.handler.codec.redis.IntegerRedisMessage;
import io.netty.handler.codec.redis.RedisMessage;
import io.netty.handler.codec.redis.SimpleStringRedisMessage;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The supported commands of Redis, with the replies and error texts of Redis. Thread-safe. */
final class Commands {
    private static final SimpleStringRedisMessage OK = new SimpleStringRedisMessage("OK");
    private static final SimpleStringRedisMessage PONG = new SimpleStringRedisMessage("PONG");
    private static final RedisMessage NIL = FullBulkStringRedisMessage.NULL_INSTANCE;
    private static final RedisMessage NO_ARRAY = ArrayRedisMessage.EMPTY_INSTANCE;
    private static final ErrorRedisMessage NOT_A_NUMBER =
            new ErrorRedisMessage("ERR value is not an integer or out of range");
    private static final ErrorRedisMessage SYNTAX = new ErrorRedisMessage("ERR syntax error");

    /**
     * A command.
     *
     * @param minWords minimum number of words, including the name
     * @param maxWords maximum number of words, including the name
     */
    private record Command(int minWords, int maxWords, Function<List<byte[]>, RedisMessage> action) {
    }

    private final Store store;
    private final Map<String, Command> commands = Map.ofEntries(
            Map.entry("PING", new Command(1, 2, this::ping)),
            Map.entry("ECHO", new Command(2, 2, words -> bulk(words.get(1)))),
            Map.entry("GET", new Command(2, 2, this::get)),
            Map.entry("SET", new Command(3, 5, this::set)),
            Map.entry("DEL", new Command(2, Integer.MAX_VALUE, this::delete)),
            Map.entry("EXISTS", new Command(2, Integer.MAX_VALUE, this::exists)),
            Map.entry("INCR", new Command(2, 2, this::increment)),
            Map.entry("EXPIRE", new Command(3, 3, this::expire)),
            Map.entry("TTL", new Command(2, 2, this::timeToLive)),
            Map.entry("DBSIZE", new Command(1, 1, this::size)),
            Map.entry("INFO", new Command(1, 2, this::info)),
            // Sent by redis-benchmark and redis-cli when they start. There is nothing to configure here.
            Map.entry("CONFIG", new Command(2, Integer.MAX_VALUE, words -> NO_ARRAY)),
            Map.entry("COMMAND", new Command(1, Integer.MAX_VALUE, words -> NO_ARRAY)));

    Commands(Store store) {
        this.store = store;
    }

    /** Runs a command of at least one word. */
    RedisMessage run(List<byte[]> words) {
        String name = text(words.getFirst());
        Command command = commands.get(name);
        if (command == null) {
            command = commands.get(name.toUpperCase(Locale.ROOT));
        }
        if (command == null) {
            return new ErrorRedisMessage("ERR unknown command '" + printable(name) + '\'');
        }
        if (words.size() < command.minWords || words.size() > command.maxWords) {
            return new ErrorRedisMessage("ERR wrong number of arguments for '"
                    + name.toLowerCase(Locale.ROOT) + "' command");
        }
        return command.action.apply(words);
    }

    /** Makes a name safe for an error reply, which a line break would terminate. */
    private static String printable(String name) {
        return name.substring(0, Math.min(name.length(), 64)).replaceAll("[^\\x20-\\x7e]", "?");
    }

    private static String text(byte[] word) {
        return new String(word, StandardCharsets.ISO_8859_1);
    }

    private static RedisMessage bulk(byte[] bytes) {
        return new FullBulkStringRedisMessage(Unpooled.wrappedBuffer(bytes));
    }

    private RedisMessage ping(List<byte[]> words) {
        return words.size() == 1 ? PONG : bulk(words.get(1));
    }

    private RedisMessage get(List<byte[]> words) {
        byte[] value = store.get(text(words.get(1)));
        return value == null ? NIL : bulk(value);
    }

    private RedisMessage set(List<byte[]> words) {
        String key = text(words.get(1));
        if (words.size() == 3) {
            store.set(key, words.get(2));
            return OK;
        }
        if (words.size() != 5) {
            return SYNTAX;
        }
        TimeUnit unit = switch (text(words.get(3)).toUpperCase(Locale.ROOT)) {
            case "EX" -> TimeUnit.SECONDS;
            case "PX" -> TimeUnit.MILLISECONDS;
            default -> null;
        };
        if (unit == null) {
            return SYNTAX;
        }
        try {
            long life = unit.toMillis(Long.parseLong(text(words.get(4))));
            if (life <= 0) {
                return new ErrorRedisMessage("ERR invalid expire time in 'set' command");
            }
            store.set(key, words.get(2), life);
            return OK;
        } catch (NumberFormatException e) {
            return NOT_A_NUMBER;
        }
    }

    private RedisMessage delete(List<byte[]> words) {
        return new IntegerRedisMessage(words.stream().skip(1).filter(key -> store.delete(text(key))).count());
    }

    private RedisMessage exists(List<byte[]> words) {
        return new IntegerRedisMessage(words.stream().skip(1).filter(key -> store.get(text(key)) != null).count());
    }

    private RedisMessage increment(List<byte[]> words) {
        try {
            return new IntegerRedisMessage(store.add(text(words.get(1)), 1));
        } catch (NumberFormatException e) {
            return NOT_A_NUMBER;
        } catch (ArithmeticException e) {
            return new ErrorRedisMessage("ERR increment or decrement would overflow");
        }
    }

    private RedisMessage expire(List<byte[]> words) {
        try {
            long life = TimeUnit.SECONDS.toMillis(Long.parseLong(text(words.get(2))));
            return new IntegerRedisMessage(store.expire(text(words.get(1)), life) ? 1 : 0);
        } catch (NumberFormatException e) {
            return NOT_A_NUMBER;
        }
    }

    private RedisMessage timeToLive(List<byte[]> words) {
        long millis = store.lifeMillis(text(words.get(1)));
        return new IntegerRedisMessage(millis < 0 ? millis : (millis + 500) / 1000);
    }

    private RedisMessage size(List<byte[]> words) {
        return new IntegerRedisMessage(store.size());
    }

    private RedisMessage info(List<byte[]> words) {
        return bulk(("# Server\r\nserver:netty-transport-rdma-raw example\r\n# Keyspace\r\ndb0:keys=" + store.size()
                + "\r\n").getBytes(StandardCharsets.US_ASCII));
    }
}
