import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A job of Spark that names no transport: groups random records by random keys, which moves about half of them from one
 * executor to the other, and prints a number that depends on each of their bytes. Arguments: how often, and how many
 * records of 1,000 bytes a partition has.
 */
public final class ShuffleJob {
    private static final int PARTITIONS = 8;
    private static final int KEYS = 1_000;
    private static final int RECORD_BYTES = 1_000;

    private ShuffleJob() {
    }

    public static void main(String[] args) {
        int jobs = Integer.parseInt(args[0]);
        int records = Integer.parseInt(args[1]);
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("shuffle"))) {
            for (int job = 0; job < jobs; job++) {
                long start = System.nanoTime();
                int result = run(spark, records);
                System.out.printf(Locale.ROOT, "job %d result %08x seconds %.2f%n", job, result,
                        (System.nanoTime() - start) / 1e9);
            }
        }
    }

    private static int run(JavaSparkContext spark, int records) {
        JavaPairRDD<Integer, byte[]> data = spark
                .parallelize(IntStream.range(0, PARTITIONS).boxed().toList(), PARTITIONS)
                .flatMapToPair(seed -> {
                    Random random = new Random(seed);
                    List<Tuple2<Integer, byte[]>> made = new ArrayList<>();
                    for (int i = 0; i < records; i++) {
                        byte[] record = new byte[RECORD_BYTES];
                        random.nextBytes(record);
                        made.add(new Tuple2<>(random.nextInt(KEYS), record));
                    }
                    return made.iterator();
                });
        List<Tuple2<Integer, Long>> sums = data.groupByKey(PARTITIONS).mapValues(group -> {
            long sum = 0;
            for (byte[] record : group) {
                // The order in which records arrive is not fixed, so neither may be that of the sum.
                sum += Arrays.hashCode(record);
            }
            return sum;
        }).sortByKey().collect();
        return sums.hashCode();
    }
}
