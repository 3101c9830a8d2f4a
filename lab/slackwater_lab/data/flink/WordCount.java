import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** Prints how often each word is in a file: a small batch job for Flink. */
public final class WordCount {
  public static void main(String[] arguments) throws Exception {
    var environment = StreamExecutionEnvironment.getExecutionEnvironment();
    var file = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(arguments[0])).build();
    environment
        .fromSource(file, WatermarkStrategy.noWatermarks(), "lines")
        .flatMap(WordCount::words)
        .returns(Types.TUPLE(Types.STRING, Types.INT))
        .keyBy(found -> found.f0, Types.STRING)
        .sum(1)
        .print();
    environment.execute("word count");
  }

  private static void words(String line, Collector<Tuple2<String, Integer>> found) {
    for (String word : line.toLowerCase().split("\\W+")) {
      if (!word.isEmpty()) {
        found.collect(Tuple2.of(word, 1));
      }
    }
  }

  private WordCount() {}
}
