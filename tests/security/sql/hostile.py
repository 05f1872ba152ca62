"""Statements that try to read, write, list or learn what is not theirs, by group.

`{folder}` holds what they aim at: canary.txt, secret.csv, secret.json, secret.parquet, secret.db, and a file whose name
is not told. `{own}` is a path under which the query's own table may lie, `{name}` the folder's own name. A statement
marked with `works` is shown to succeed on an unlocked connection.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """One statement; `works` outside of the locks."""

    group: str
    sql: str
    works: bool

    @property
    def is_no_query(self) -> bool:
        """It changes something by its kind, so that nothing of it may run."""
        is_select = self.sql.startswith(("select", "show", "with x as (select"))
        return self.group in ("writes", "writing queries", "settings") and not is_select


def _group(name: str, statements: str) -> list[Hostile]:
    """One statement a line; a line that begins with `+` works outside."""
    lines = [line.strip() for line in statements.strip().splitlines()]
    return [Hostile(name, line.removeprefix("+ ").replace("\\n", "\n"), line.startswith("+ ")) for line in lines]


READS = r"""
+ select * from read_text('{folder}/canary.txt')
+ select * from read_blob('{folder}/canary.txt')
+ select * from read_csv('{folder}/secret.csv')
+ select * from read_csv_auto('{folder}/secret.csv')
+ select * from read_csv('{folder}/canary.txt', header = false, columns = {{'line': 'VARCHAR'}})
+ select * from read_json('{folder}/secret.json')
+ select * from read_json_auto('{folder}/secret.json')
+ select * from read_json_objects('{folder}/secret.json')
+ select * from read_ndjson('{folder}/secret.json')
+ select * from read_parquet('{folder}/secret.parquet')
+ select * from parquet_scan('{folder}/secret.parquet')
select * from read_parquet(['{own}', '{folder}/secret.parquet'])
+ select * from read_parquet('{folder}/*.parquet')
+ select * from read_parquet('{folder}/secret.parquet', filename = true, union_by_name = true)
+ select * from parquet_metadata('{folder}/secret.parquet')
select * from parquet_schema('{folder}/secret.parquet')
select * from parquet_kv_metadata('{folder}/secret.parquet')
select * from parquet_file_metadata('{folder}/secret.parquet')
select * from parquet_bloom_probe('{folder}/secret.parquet', 's', 'x')
+ select * from '{folder}/secret.csv'
+ select * from '{folder}/secret.json'
+ select * from '{folder}/secret.parquet'
+ from '{folder}/secret.parquet'
+ table '{folder}/secret.parquet'
+ select * from "{folder}/secret.parquet"
+ select * from read_text('{folder}/../{name}/canary.txt')
+ select * from read_text('file:{folder}/canary.txt')
+ select * from read_text('file://{folder}/canary.txt')
+ select * from read_text('file://localhost{folder}/canary.txt')
+ select * from read_text(['{folder}/canary.txt'])
+ select * from read_text('{folder}/can*.txt')
+ select * from read_text('{folder}/canary.tx?')
+ select * from read_text('{folder}/[c]anary.txt')
+ select * from read_text('{folder}/link')
+ select * from read_text(chr(47) || substr('{folder}/canary.txt', 2))
+ select (select content from read_text('{folder}/canary.txt'))
+ select * from blob1 where zip not in (select content from read_text('{folder}/canary.txt')) or true union all select 1, content from read_text('{folder}/canary.txt')
+ select content from blob1, read_text('{folder}/canary.txt')
+ with x as (select content from read_text('{folder}/canary.txt')) select * from x
+ with x as materialized (from read_text('{folder}/canary.txt')) from x
+ values ((select content from read_text('{folder}/canary.txt')))
pivot (select content from read_text('{folder}/canary.txt')) on content using count(*)
select list_transform([1], x -> (select content from read_text('{folder}/canary.txt')))
+ select * from (values (1)) t(f) join read_text('{folder}/canary.txt') on true
select * from (values ('{folder}/canary.txt')) t(f), lateral (select * from read_text(f))
+ summarize (select * from read_text('{folder}/canary.txt'))
+ select * from (summarize (select * from read_text('{folder}/canary.txt')))
describe select * from read_text('{folder}/canary.txt')
+ select * from read_duckdb('{folder}/secret.db')
select * from read_xlsx('{folder}/secret.xlsx')
select * from sqlite_scan('{folder}/secret.db', 't')
select * from postgres_scan('host=127.0.0.1', 'public', 't')
select * from iceberg_scan('{folder}')
select * from delta_scan('{folder}')
select * from st_read('{folder}/secret.csv')
select * from read_avro('{folder}/secret.csv')
select * from read_csv('http://127.0.0.1:9/x.csv')
select * from read_parquet('s3://bucket/x.parquet')
select * from read_text('hf://datasets/a/b/c.txt')
"""

PROC = r"""
+ select * from read_text('/proc/self/environ')
select * from read_text('/proc/1/environ')
select * from read_blob('/proc/self/mem')
+ select * from read_text('/proc/self/cmdline')
+ select * from read_text('/proc/self/maps')
select * from read_text('/proc/self/mountinfo')
select * from glob('/proc/self/fd/*')
select * from glob('/proc/self/cwd/*')
+ select * from read_text('/proc/self/root{folder}/canary.txt')
+ select * from read_text('/proc/thread-self/root{folder}/canary.txt')
select * from read_blob('/dev/stdin')
select * from read_text('/dev/fd/3')
select * from read_text('/etc/passwd')
select * from read_text('/etc/shadow')
"""

LISTING = r"""
+ select * from glob('{folder}/*')
+ select * from glob('{folder}/**')
+ select * from glob('{folder}/../*/un*')
+ select file from glob('{folder}/unlisted*')
select * from glob('/*')
select * from glob('/blobs/../*')
+ select filename from read_text('{folder}/*.txt')
select size, last_modified from read_blob('{folder}/canary.txt')
select * from sniff_csv('{folder}/secret.csv')
select * from sniff_csv('{folder}/nothing.csv')
select count(*) from glob('{folder}/canary.txt')
"""

WRITES = r"""
+ copy (select 1) to '{folder}/out.csv'
+ copy (select 1) to '{folder}/out.parquet' (format parquet)
+ copy (select 1) to '{folder}/out.json' (format json)
+ copy (select 1 as a, 2 as b) to '{folder}/out' (format csv, partition_by (a))
+ copy (select 1) to '{folder}/canary.txt' (format csv, use_tmp_file false)
copy (select 1) to '{own}' (format parquet, use_tmp_file false)
copy blob1 to '{own}' (format parquet, use_tmp_file false, overwrite true)
+ copy blob1 to '{folder}/out.csv'
copy blob1 from '{folder}/secret.csv'
+ export database '{folder}/out'
import database '{folder}/out'
+ attach '{folder}/out.db'
+ attach '{folder}/out.db' as other (storage_version 'latest')
+ create table t as select * from read_text('{folder}/canary.txt') ; from t
insert into blob1 values (1, 'x')
delete from blob1
update blob1 set id = 1
truncate blob1
merge into blob1 using (select 1 as id) x using (id) when matched then delete
drop view blob1
create or replace view blob1 as select 1
alter view blob1 rename to blob2
comment on view blob1 is 'x'
create table t (a int)
create temp table t as select 1
create sequence s
create type t as enum ('a')
create schema s
create index i on blob1 (id)
create secret (type s3, key_id 'a', secret 'b')
create persistent secret x (type http)
select * from enable_logging(storage = 'file', storage_path = '{folder}/log')
call enable_logging(storage = 'file', storage_path = '{folder}/log')
select write_log('x')
select * from truncate_duckdb_logs()
select * from checkpoint()
select * from force_checkpoint()
"""

WRITING_QUERIES = r"""
with x as (delete from blob1 returning *) select * from x
with x as (insert into blob1 values (9, 'x') returning *) select * from x
with x as (update blob1 set id = 9 returning *) select * from x
+ with x as (copy (select 1) to '{folder}/out.csv') select 1
with x as materialized (delete from blob1 returning *), y as (select * from x) select * from y
select * from (delete from blob1 returning *)
select * from (copy (select 1) to '{folder}/out.csv')
from (insert into blob1 values (1, 'x') returning *)
explain select 1
explain analyze select 1
+ explain analyze copy (select 1) to '{folder}/out.csv'
explain analyze delete from blob1
explain analyze select * from read_text('{folder}/canary.txt')
explain (format json) select * from blob1
"""

SETTINGS = r"""
set enable_external_access = true
set allowed_paths = ['/']
set allowed_directories = ['/']
set lock_configuration = false
reset lock_configuration
reset enable_external_access
set global memory_limit = '100GB'
set session threads = 100
set temp_directory = '{folder}'
set max_execution_time = 0
set python_enable_replacements = true
set python_scan_all_frames = true
set autoload_known_extensions = true
set allow_unsigned_extensions = true
set custom_extension_repository = 'http://127.0.0.1:9'
set home_directory = '{folder}'
set secret_directory = '{folder}'
set log_query_path = '{folder}/log'
set profiling_output = '{folder}/log'
set search_path = 'memory'
set variable x = (select content from read_text('{folder}/canary.txt'))
set variable x = 1
reset variable x
pragma enable_external_access
pragma enable_profiling
pragma memory_limit = '100GB'
pragma database_list
pragma show_tables
pragma table_info('blob1')
pragma version
pragma import_database('{folder}')
call pragma_version()
call force_checkpoint()
install httpfs
install '{folder}/canary.txt'
force install httpfs from 'http://127.0.0.1:9'
load httpfs
load '{folder}/canary.txt'
update extensions
use memory
begin
commit
rollback
checkpoint
vacuum
analyze
detach memory
attach ':memory:' as other
attach 'sqlite:{folder}/secret.db' as other
attach 'http://127.0.0.1:9/x.db' as other
connect 'x'
"""

DETOURS = r"""
+ select * from query('select * from read_text(''{folder}/canary.txt'')')
select * from query('copy (select 1) to ''{folder}/out.csv''')
+ select * from query_table('{folder}/secret.parquet')
+ select * from query_table(['{folder}/secret.parquet'])
+ select * from json_execute_serialized_sql(json_serialize_sql('select * from read_text(''{folder}/canary.txt'')'))
+ create macro m() as table select * from read_text('{folder}/canary.txt') ; from m()
create macro m() as (select content from read_text('{folder}/canary.txt'))
+ prepare p as select * from read_text('{folder}/canary.txt') ; execute p
prepare p as select * from read_text('{folder}/canary.txt')
execute p
deallocate p
select * from read_text(?)
select * from read_text($path)
select getenv('SCENE_SECRET')
select * from which_secret('s3://x', 's3')
select * from duckdb_secrets()
select current_setting('temp_directory'), current_setting('allowed_paths')
select getvariable('x')
select * from pandas_scan(1, 2, 3)
select * from arrow_scan(1, 2, 3)
select * from arrow_scan_dumb(1, 2, 3)
select * from python_map_function(1)
select * from arguments
select * from files
select * from call
select * from engine
select * from os
select os.environ
select shell('id')
select system('id')
select load_extension('x')
select add_parquet_key('k', 'x')
select nextval('s')
select * from repeat_row(1, num_rows = 3) where error('{folder}') is null
select nosuchfunction('{folder}')
"""

SHAPES = r"""
+ select 1 as a ; copy (select 1) to '{folder}/out.csv'
+ select 1 as a ;;; copy (select 1) to '{folder}/out.csv' ;
+ select content from read_text('{folder}/canary.txt') ; select 2
select 1) as t; copy (select 1) to '{folder}/out.csv'; select * from (select 1
select 1) as t(a) ; drop view blob1 ; --
select 1 as a union all select 2 union all select length(content) from read_text('{folder}/canary.txt') --
select 1) union all select content from read_text('{folder}/canary.txt') --
+ select '1' /* ) */ union all select content from read_text('{folder}/canary.txt')
select 1 /*
select 1 */
select 1 --\n; set threads = 1
select 1 /* /* */ ; copy (select 1) to '{folder}/out.csv' */
+ --\ncopy (select 1) to '{folder}/out.csv'
+ /* select 1 */ copy (select 1) to '{folder}/out.csv'
select $$ ; copy (select 1) to '{folder}/out.csv'
+ select $x$ ; $x$ ; copy (select 1) to '{folder}/out.csv'
select 'a' ; ' ; copy (select 1) to '{folder}/out.csv'
select "a ; copy (select 1) to '{folder}/out.csv'
+ (select content from read_text('{folder}/canary.txt'))
((((select 1
+ from (from (from read_text('{folder}/canary.txt')))
select 1 from blob1 where id = 1 limit (select 1) offset (select 2
\ufeff copy (select 1) to '{folder}/out.csv'
"""

LEARNING = r"""
select * from duckdb_settings()
select * from duckdb_views()
select * from duckdb_tables()
select * from duckdb_databases()
select * from duckdb_extensions()
select * from duckdb_functions() where function_name ilike '%text%'
select * from duckdb_temporary_files()
select * from duckdb_memory()
select * from duckdb_logs()
select * from duckdb_variables()
select * from duckdb_prepared_statements()
select * from pragma_database_list()
select * from pragma_database_size()
select * from pragma_user_agent()
select * from pragma_storage_info('blob1')
select * from pragma_show('blob1')
select * from sqlite_master
select * from information_schema.tables
select * from information_schema.views
select * from pg_catalog.pg_views
select * from pg_catalog.pg_settings
show all tables
show databases
show create view blob1
select filename from blob1
select file_row_number, filename, * from blob1
select parse_filename(filename) from blob1
select * from parquet_metadata('{own}')
select * from parquet_file_metadata('{own}')
select * from read_parquet('{own}', filename = true)
select * from read_parquet('{own}x')
select * from read_blob('{own}')
select * from glob('{own}*')
select * from 'nothing.parquet'
select * from 'blob1.parquet'
select current_user, session_user, user, current_database(), current_schema(), current_catalog()
select pg_backend_pid(), inet_server_addr(), version()
select current_query()
select error((select string_agg(value, ' ') from duckdb_settings()))
select cast((select string_agg(sql, ' ') from duckdb_views()) as integer)
select * from test_all_types()
"""

HOSTILE = [
    *_group("reads", READS),
    *_group("proc", PROC),
    *_group("listing", LISTING),
    *_group("writes", WRITES),
    *_group("writing queries", WRITING_QUERIES),
    *_group("settings", SETTINGS),
    *_group("detours", DETOURS),
    *_group("shapes", SHAPES),
    *_group("learning", LEARNING),
]
